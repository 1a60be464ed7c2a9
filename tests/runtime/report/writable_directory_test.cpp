// Goal: a directory that files cannot be written to is known before there is anything to write, and the proof leaves
// nothing. Method: real directories; a child process gives up root's rights, as these ignore permissions.
#include "runtime/report/writable_directory.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class writable_directory : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("test-writable-" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
    fs::permissions(root_, fs::perms::all);
  }
  void TearDown() override { fs::remove_all(root_); }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::recursive_directory_iterator(root_), {}));
  }

  fs::path root_;
};

TEST_F(writable_directory, is_proven_and_nothing_is_left) {
  EXPECT_TRUE(check_writable_directory(root_));
  EXPECT_TRUE(check_writable_directory(root_ / "x" / "y" / ""));
  EXPECT_TRUE(check_writable_directory(root_ / "x" / ".." / "y"));
  EXPECT_EQ(entries(), 0U);
  std::ofstream(root_ / "result.json") << "an older one";
  EXPECT_TRUE(check_writable_directory(root_, {"result.json"}));
  EXPECT_EQ(entries(), 1U);
}

TEST_F(writable_directory, is_none_where_a_file_is_in_the_way) {
  std::ofstream(root_ / "file") << "text";
  for (const fs::path& path : {root_ / "file", root_ / "file" / "below"}) {
    const auto refused = check_writable_directory(path);
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().code, error_code::output_unwritable);
    EXPECT_THAT(refused.error().cause, HasSubstr("Not a directory"));
  }
  EXPECT_EQ(entries(), 1U);
}

TEST_F(writable_directory, holds_no_directory_in_the_place_of_a_file) {
  fs::create_directories(root_ / "result.json");
  const auto refused = check_writable_directory(root_, {"trace.jsonl", "result.json"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().where, HasSubstr("result.json"));
  EXPECT_EQ(entries(), 1U);
}

/// access(2) tells root that /proc is writable, and so does it of any place whose file system makes no files.
TEST_F(writable_directory, is_none_where_the_file_system_makes_no_files) {
  EXPECT_FALSE(check_writable_directory("/proc"));
  EXPECT_FALSE(check_writable_directory("/proc/self/new"));
}

/// The limit of a file's size ends the process in the middle of the proof.
TEST_F(writable_directory, has_nothing_of_a_proof_that_was_killed) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit few_bytes{100, 100};
    ::setrlimit(RLIMIT_FSIZE, &few_bytes);
    ::signal(SIGXFSZ, SIG_DFL);
    const auto proved = check_writable_directory(root_);
    ::_exit(proved ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGXFSZ);
  EXPECT_EQ(entries(), 0U);
}

/// Of `check` in a child process of a user without rights.
bool as_other_user(const std::function<bool()>& check) {
  constexpr unsigned other_user = 65534;
  const pid_t child = ::fork();
  if (child == 0) ::_exit((::geteuid() != 0 || ::setuid(other_user) == 0) && check() ? 0 : 1);
  int status = -1;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

TEST_F(writable_directory, is_none_without_permission) {
  fs::create_directories(root_ / "closed" / "inner");
  fs::create_directories(root_ / "open");
  fs::permissions(root_ / "open", fs::perms::all);
  fs::permissions(root_ / "closed", fs::perms::none);
  EXPECT_TRUE(as_other_user([&] { return check_writable_directory(root_ / "open").has_value(); }));
  EXPECT_TRUE(as_other_user([&] { return !check_writable_directory(root_ / "closed"); }));
  // A directory that cannot be seen is not a missing one.
  EXPECT_TRUE(as_other_user([&] { return !check_writable_directory(root_ / "closed" / "inner"); }));
  EXPECT_TRUE(as_other_user([&] { return !check_writable_directory(root_ / "closed" / "new"); }));
  fs::permissions(root_ / "closed", fs::perms::all);
}

}  // namespace
}  // namespace troupe
