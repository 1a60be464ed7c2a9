// Goal: a save that is killed at any point leaves the old checkpoint or the new one, and never a mixture.
// Method: a child process saves over a checkpoint and ends between two operations on files, at each of these points in
// turn, and a load follows.
#include <filesystem>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/checkpoint/load_files.hpp"
#include "runtime/checkpoint/save_files.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

checkpoint_content content(std::int64_t value) {
  checkpoint_content made{.layers = std::vector<state_dict>(3), .client_state = {{"value", value}}};
  for (state_dict& layer : made.layers) layer = {{"weight", at::full({4}, value, at::kLong)}};
  return made;
}

/// The one value that all files of a checkpoint have; -1 where they differ.
std::int64_t value_in(const fs::path& dir, const std::string& tag) {
  const auto from = open_tag(dir, tag);
  if (!from) return -1;
  const auto layers = load_layers(*from);
  const auto states = load_states(*from);
  if (!layers || !states || layers->size() != 3) return -1;
  const auto value = std::get<std::int64_t>(states->client_state.at("value").value);
  for (const layer_state& each : *layers) {
    if (!at::equal(each.weights.front().tensor, at::full({4}, value, at::kLong))) return -1;
  }
  return value;
}

/// Whether the child has saved to the end.
bool save_killed_at(int point, const fs::path& dir, const std::string& tag, std::int64_t value) {
  const checkpoint_content given = content(value);
  const pid_t child = ::fork();
  if (child == 0) {
    int points = 0;
    const auto saved = save_files(dir, tag, given, [&] {
      if (points++ == point) ::_exit(1);
    });
    ::_exit(saved ? 0 : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_NE(WEXITSTATUS(status), 2) << "it failed at point " << point;
  return WEXITSTATUS(status) == 0;
}

class killed_saves : public ::testing::Test {
 protected:
  killed_saves() {
    std::string scratch = (fs::temp_directory_path() / "test-killed-XXXXXX").string();
    dir_ = ::mkdtemp(scratch.data());
  }
  ~killed_saves() override { fs::remove_all(dir_); }
  killed_saves(const killed_saves&) = delete;
  killed_saves& operator=(const killed_saves&) = delete;

  fs::path dir_;
};

TEST_F(killed_saves, of_a_tag_that_exists_leave_the_old_one_or_the_new_one) {
  ASSERT_TRUE(save_files(dir_, "tag", content(0)));
  std::int64_t old = 0;
  for (int point = 0;; ++point) {
    const bool is_whole = save_killed_at(point, dir_, "tag", point + 1);
    const std::int64_t found = value_in(dir_, "");
    EXPECT_TRUE(found == old || found == point + 1) << found << " at point " << point;
    if (is_whole) EXPECT_EQ(found, point + 1);
    old = found;
    if (is_whole) {
      EXPECT_GT(point, 6);
      break;
    }
  }
  for (const auto& each : fs::directory_iterator(dir_)) {
    EXPECT_THAT(each.path().filename().string(), ::testing::Not(HasSubstr(".troupe"))) << "of a killed save";
  }
}

TEST_F(killed_saves, of_a_new_tag_leave_latest_whole) {
  ASSERT_TRUE(save_files(dir_, "first", content(1)));
  for (int point = 0;; ++point) {
    fs::remove_all(dir_ / "second");
    const bool is_whole = save_killed_at(point, dir_, "second", 2);
    EXPECT_EQ(value_in(dir_, "first"), 1);
    const std::int64_t found = value_in(dir_, "");
    EXPECT_TRUE(found == 1 || found == 2) << found << " at point " << point;
    if (is_whole || found == 2) break;
  }
}

TEST_F(killed_saves, delete_nothing_that_no_save_has_made) {
  ASSERT_TRUE(save_files(dir_, "tag", content(1)));
  fs::create_directory(dir_ / "tag/notes");
  const auto refused = save_files(dir_, "tag", content(2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::output_unwritable);
  EXPECT_EQ(value_in(dir_, "tag"), 1);
  for (const char* tag : {"", "..", "a/b", "latest", ".hidden"}) {
    const auto bad = save_files(dir_, tag, content(2));
    ASSERT_FALSE(bad) << tag;
    EXPECT_EQ(bad.error().code, error_code::value_out_of_range);
  }
  const auto taken = save_files(dir_, "other", {.layers = {}, .client_state = {{"global_steps", 1}}});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, error_code::value_out_of_range);
}

}  // namespace
}  // namespace troupe::testing
