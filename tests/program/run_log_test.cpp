// Goal: the log of a run goes to stderr by itself, to a hook in its place, and to a file beside either, from the level
// asked for on. Method: records through a thread for hooks, as in a run.
#include "program/run/run_log.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <gmock/gmock.h>

#include "program/run/hook_caller.hpp"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
namespace fs = std::filesystem;

/// What went to stderr.
std::string told(const log_options& options, evaluation_hooks hooks) {
  ::testing::internal::CaptureStderr();
  {
    const auto log = run_log::open(options);
    EXPECT_TRUE(log) << to_string(log.error());
    const auto caller = *hook_caller::start(log->attach(std::move(hooks)));
    caller->put({.level = log_level::debug, .text = "d"});
    caller->put({.level = log_level::info, .text = "i"});
    caller->put({.level = log_level::warning, .text = "w"});
    caller->put({.level = log_level::error, .text = "error e"});
    EXPECT_TRUE(caller->finish(20s));
  }
  return ::testing::internal::GetCapturedStderr();
}

TEST(run_log, goes_to_stderr_from_warnings_on) {
  EXPECT_EQ(told({}, {}), "warning: w\nerror e\n");
  EXPECT_EQ(told({.level = log_level::error}, {}), "error e\n");
  EXPECT_EQ(told({.level = log_level::debug}, {}), "debug: d\ni\nwarning: w\nerror e\n");
}

TEST(run_log, goes_to_a_hook_in_place_of_stderr) {
  std::vector<std::string> given;
  const evaluation_hooks hooks{.on_progress = {},
                               .on_log = [&](const log_record& record) { given.push_back(record.text); }};
  EXPECT_EQ(told({}, hooks), "");
  EXPECT_THAT(given, ElementsAre("i", "w", "error e"));
  given.clear();
  EXPECT_EQ(told({.level = log_level::warning}, hooks), "");
  EXPECT_THAT(given, ElementsAre("w", "error e"));
}

TEST(run_log, goes_to_a_file_beside_a_hook_and_not_to_stderr) {
  std::string made = (fs::temp_directory_path() / "troupe-log-XXXXXX").string();
  const fs::path directory = ::mkdtemp(made.data());
  std::vector<std::string> given;
  const evaluation_hooks hooks{.on_progress = {},
                               .on_log = [&](const log_record& record) { given.push_back(record.text); }};
  const log_options options{.file = directory / "log", .format = log_format::json, .level = log_level::error};
  EXPECT_EQ(told(options, hooks), "");
  EXPECT_EQ(told(options, {}), "");
  EXPECT_THAT(given, ElementsAre("error e"));
  std::ostringstream kept;
  kept << std::ifstream(options.file).rdbuf();
  const std::string line = "Z\",\"level\":\"error\",\"message\":\"error e\"}\n";
  EXPECT_THAT(kept.str(), ::testing::EndsWith(line));
  const std::string all = kept.str();
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 2) << all;
  fs::remove_all(directory);
}

TEST(run_log, tells_of_repeats_before_its_caller_has_finished) {
  ::testing::internal::CaptureStderr();
  std::shared_ptr<hook_caller> caller;
  {
    const auto log = run_log::open({});
    caller = *hook_caller::start(log->attach({}));
  }
  for (int i = 0; i < 3; ++i) caller->put({.level = log_level::warning, .text = "again"});
  EXPECT_TRUE(caller->finish(20s));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "warning: again\nwarning: ... 2 more like this: again\n");
}

}  // namespace
}  // namespace troupe::testing
