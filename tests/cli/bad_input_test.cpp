// Goal: every kind of bad input ends with its documented status and a message that names the fault, prints nothing on
// stdout, and leaves nothing behind. Method: the commands in a child process, once per row of bad_input_table.cpp, in a
// directory of its own; the built program shows that the command that all rows are made from is good.
#include "tests/cli/bad_input.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/commands_in_child.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/turns.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

program_call call_in(const scratch& directory, std::vector<std::string> arguments) {
  const std::string data = std::filesystem::absolute(data_dir()).string();
  for (std::string& each : arguments) {
    if (each.starts_with("@/")) each = data + each.substr(1);
  }
  program_call call{.arguments = std::move(arguments)};
  call.directory = directory.path().string();
  return call;
}

class bad_input_row : public ::testing::TestWithParam<bad_input> {};

TEST_P(bad_input_row, is_refused_with_status_and_message) {
  const scratch directory;
  make_bad_files(directory);
  const auto before = directory.entries();
  program_call call = call_in(directory, GetParam().arguments);
  // Where a row has no --output of its own, there would be one to leave behind.
  call.environment = GetParam().environment;
  call.environment.emplace_back("TROUPE_OUTPUT=left-behind/out");
  if (GetParam().name.find("output") != std::string::npos) call.environment.pop_back();
  call.body = &commands_in_child;
  const program_outcome outcome = run_troupe(call);
  EXPECT_EQ(outcome.status, GetParam().status) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  if (!GetParam().code.empty()) {
    EXPECT_THAT(outcome.err, HasSubstr("error " + GetParam().code));
    EXPECT_THAT(outcome.err, HasSubstr("troupe explain " + GetParam().code));
  }
  EXPECT_THAT(outcome.err, HasSubstr(GetParam().piece));
  EXPECT_EQ(directory.entries(), before);
}

INSTANTIATE_TEST_SUITE_P(all, bad_input_row,
                         ::testing::ValuesIn(in_turn_if_sanitized(bad_inputs(), bad_inputs().size() / 2)),
                         [](const auto& row) { return row.param.name; });

TEST(bad_input_table, has_forty_kinds_at_the_least) {
  EXPECT_GE(bad_inputs().size(), 40U);
}

TEST(bad_input_table, starts_from_a_command_that_is_good) {
  const scratch directory;
  make_bad_files(directory);
  const auto outcome = run_troupe(call_in(directory, {"eval", "--model", "good.pt", "--data", "mnist:good-mnist"}));
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("of 4)"));
}

}  // namespace
}  // namespace troupe::testing
