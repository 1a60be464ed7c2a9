// Goal: a file is written whole or not at all, and nothing is left behind by a failed write. Method: real directories;
// the failures that root cannot cause by permissions are caused by files that stand in the way.
#include "runtime/report/atomic_file.hpp"

#include <climits>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/report/made_directories.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class atomic_file : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("troupe-atomic-" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  static std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::recursive_directory_iterator(root_), {}));
  }

  fs::path root_;
};

TEST_F(atomic_file, replaces_a_file_and_leaves_nothing_else) {
  ASSERT_TRUE(atomic_write_file(root_ / "a.json", "old"));
  ASSERT_TRUE(atomic_write_file(root_ / "a.json", std::string("new\0bytes", 9)));
  EXPECT_EQ(read(root_ / "a.json"), std::string("new\0bytes", 9));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(atomic_file, makes_missing_directories) {
  ASSERT_TRUE(atomic_write_file(root_ / "x" / "y" / "a.json", "text"));
  EXPECT_EQ(read(root_ / "x" / "y" / "a.json"), "text");
}

TEST_F(atomic_file, names_path_and_reason_and_takes_back_what_it_made) {
  ASSERT_TRUE(atomic_write_file(root_ / "file", "in the way"));
  const auto below = atomic_write_file(root_ / "file" / "a.json", "text");
  ASSERT_FALSE(below);
  EXPECT_EQ(below.error().code, error_code::output_unwritable);
  EXPECT_THAT(below.error().cause, HasSubstr("Not a directory"));
  EXPECT_EQ(entries(), 1U);
  // The name is taken by a directory, so the rename fails after the temporary file was written.
  fs::create_directories(root_ / "taken" / "inside");
  const auto onto = atomic_write_file(root_ / "taken", "text");
  ASSERT_FALSE(onto);
  EXPECT_THAT(onto.error().where, HasSubstr("taken"));
  EXPECT_EQ(entries(), 3U);
}

TEST_F(atomic_file, a_name_that_is_too_long_leaves_no_new_directory) {
  EXPECT_FALSE(atomic_write_file(root_ / "new" / std::string(300, 'a'), "text"));
  EXPECT_EQ(entries(), 0U);
}

TEST_F(atomic_file, the_longest_names_can_be_written) {
  for (const std::size_t bytes : {std::size_t{240}, std::size_t{NAME_MAX}}) {
    const fs::path path = root_ / std::string(bytes, 'n');
    const auto written = atomic_write_file(path, "content");
    ASSERT_TRUE(written) << to_string(written.error());
    EXPECT_EQ(read(path), "content");
  }
  EXPECT_EQ(entries(), 2U);
}

/// In a container every program may have the same process id.
TEST_F(atomic_file, what_a_killed_program_left_is_not_in_the_way) {
  const fs::path left = root_ / ("a.json.tmp-" + std::to_string(::getpid()));
  std::ofstream(left) << "cut sho";
  ASSERT_TRUE(atomic_write_file(root_ / "a.json", "text"));
  EXPECT_EQ(read(root_ / "a.json"), "text");
  EXPECT_EQ(read(left), "cut sho");
  EXPECT_EQ(entries(), 2U);
}

TEST_F(atomic_file, taking_back_leaves_what_others_have_put_there) {
  made_directories made;
  ASSERT_EQ(made.make(root_ / "a" / "b" / "c"), 0);
  ASSERT_EQ(made.make(root_ / "a" / "d"), 0);
  ASSERT_TRUE(atomic_write_file(root_ / "a" / "b" / "theirs", "text"));
  made.take_back();
  EXPECT_EQ(read(root_ / "a" / "b" / "theirs"), "text");
  EXPECT_EQ(entries(), 3U);
}

TEST_F(atomic_file, taking_back_leaves_what_was_there_before) {
  fs::create_directories(root_ / "a");
  made_directories made;
  ASSERT_EQ(made.make(root_ / "a" / "b"), 0);
  ASSERT_EQ(made.make(root_ / "a"), 0);
  made.take_back();
  EXPECT_TRUE(fs::is_directory(root_ / "a"));
  EXPECT_EQ(entries(), 1U);
}

}  // namespace
}  // namespace troupe
