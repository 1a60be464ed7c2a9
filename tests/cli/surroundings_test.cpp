// Goal: what a program inherits from its parent ends no run by a signal or with a wrong result: closed standard
// descriptors, limits of file sizes, signals that come while the program ends. Method: the built program under each of
// them.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using words = std::vector<std::string>;

words eval_with(const words& more) {
  const auto dir = std::filesystem::absolute(data_dir());
  words arguments = {"eval",
                     "--model",
                     (dir / "mnist/lenet.pt").string(),
                     "--data",
                     "mnist:" + (dir / "mnist").string(),
                     "--limit",
                     "200",
                     "--micro-batch",
                     "10",
                     "--threads",
                     "1",
                     "--stages",
                     "2",
                     "--json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// By a shell that does something first: `how` has "$@" in it.
program_call through_shell(const std::string& how, const words& more, const scratch& directory) {
  words arguments = {"-c", how, "sh", TROUPE_PROGRAM};
  const words own = eval_with(more);
  arguments.insert(arguments.end(), own.begin(), own.end());
  return {.arguments = arguments, .program = "/bin/sh", .directory = directory.path().string()};
}

std::string metrics_of(const program_outcome& outcome) {
  return nlohmann::json::parse(outcome.out)["metrics"].dump();
}

const std::string& expected_metrics() {
  static const std::string expected = metrics_of(run_troupe({.arguments = eval_with({})}));
  return expected;
}

TEST(closed_descriptors, of_input_and_errors_change_no_result) {
  const scratch directory;
  const std::vector<const char*> ways = {R"(exec "$@" <&-)", R"(exec "$@" 2>&-)", R"(exec "$@" <&- 2>&-)"};
  for (const char* how : fewer_if_sanitized(ways, {2})) {
    for (const words& more : {words{}, words{"--processes"}}) {
      const auto outcome = run_troupe(through_shell(how, more, directory));
      ASSERT_EQ(outcome.status, 0) << how << outcome.err;
      EXPECT_EQ(metrics_of(outcome), expected_metrics()) << how;
    }
  }
}

TEST(closed_descriptors, of_output_are_an_output_that_cannot_be_written) {
  const scratch directory;
  for (const char* how : {R"(exec "$@" >&-)", R"(exec "$@" <&- >&-)"}) {
    const auto outcome = run_troupe(through_shell(how, {"--output", "."}, directory));
    EXPECT_EQ(outcome.status, 1) << how;
    EXPECT_THAT(outcome.err, HasSubstr("error E0611: stdout: Bad file descriptor"));
    EXPECT_EQ(nlohmann::json::parse(file_content(directory.path() / "result.json"))["metrics"].dump(),
              expected_metrics());
  }
}

struct size_limit {
  std::uint64_t bytes;
  words more;
  std::string code;
};

/// Of a journal of the whole evaluation. Its header names the processor: the size differs from machine to machine.
std::uint64_t journal_bytes() {
  const scratch directory;
  const auto file = directory.path() / "j";
  EXPECT_EQ(run_troupe({.arguments = eval_with({"--journal", file.string()})}).status, 0);
  return std::filesystem::file_size(file);
}

/// A file that may not grow is told by a signal, unless the program says otherwise.
TEST(limits_of_file_sizes, are_errors_with_a_code) {
  const std::vector<size_limit> cases = {{100, {"--output", "out"}, "error E0611: "},
                                         {100, {"--journal", "j"}, "error E0803: "},
                                         {journal_bytes() - 1, {"--journal", "j"}, "error E0803: "},
                                         {100, {"--processes"}, "error E0614: "}};
  for (const size_limit& one : cases) {
    const scratch directory;
    const std::string how = "exec prlimit --fsize=" + std::to_string(one.bytes) + R"( -- "$@")";
    const auto outcome = run_troupe(through_shell(how, one.more, directory));
    EXPECT_EQ(outcome.status, 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(one.code));
    EXPECT_THAT(outcome.err, HasSubstr("File too large"));
  }
}

TEST(a_signal_behind_the_result, changes_nothing) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const scratch directory;
    const auto file = directory.path() / "result";
    program_call call{.arguments = eval_with({}), .stdout_file = file.string()};
    call.on_tick = [&, sent = 0]() mutable -> std::vector<int> {
      if (sent == 2 || !nlohmann::json::accept(file_content(file))) return {};
      ++sent;
      return {signal};
    };
    const auto outcome = run_troupe(call);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(nlohmann::json::parse(file_content(file))["metrics"].dump(), expected_metrics());
  }
}

}  // namespace
}  // namespace troupe::testing
