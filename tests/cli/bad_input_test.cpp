// Goal: every kind of bad input ends with its documented status and a message that names the fault, prints nothing on
// stdout, and leaves nothing behind. Method: the commands in a child process, once per row of bad_input_table.cpp, in a
// directory of its own; the built program shows that the command that all rows are made from is good.
#include "tests/cli/bad_input.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/commands_in_child.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/paths.hpp"

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

INSTANTIATE_TEST_SUITE_P(all, bad_input_row, ::testing::ValuesIn(bad_inputs()),
                         [](const auto& row) { return row.param.name; });

/// A name that would be a second error, colour the terminal, and is no UTF-8.
const std::string hostile_name = "a\nerror E0000: fake\x1b[31m\xff.pt";
const std::string shown_name = "a\\x0aerror E0000: fake\\x1b[31m\\xff.pt";

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool is_error(const std::string& line) {
  return line.starts_with("error E");
}

TEST(hostile_names, are_one_line_of_one_error) {
  const scratch directory;
  make_bad_files(directory);
  std::filesystem::copy_file(directory.path() / "good.pt", directory.path() / hostile_name);
  std::filesystem::resize_file(directory.path() / hostile_name, 100);
  using words = std::vector<std::string>;
  const words good = {"eval", "--model", "good.pt", "--data", "mnist:good-mnist"};
  const std::vector<words> more = {{"--config", hostile_name},  {"--output", "good.pt/" + hostile_name},
                                   {"--device", hostile_name},  {"--log", "good.pt/" + hostile_name},
                                   {"--metrics", hostile_name}, {"--partition", hostile_name},
                                   {"--" + hostile_name}};
  std::vector<words> all = {{"eval", "--model", hostile_name, "--data", "mnist:good-mnist"},
                            {"eval", "--model", "good.pt", "--data", "mnist:" + hostile_name},
                            {"inspect", "none/" + hostile_name},
                            {hostile_name}};
  for (const words& each : more) {
    all.push_back(good);
    all.back().insert(all.back().end(), each.begin(), each.end());
  }
  for (const words& each : all) {
    program_call call = call_in(directory, each);
    call.body = &commands_in_child;
    const auto outcome = run_troupe(call);
    SCOPED_TRACE(each.front() + " " + each.back() + "\n" + outcome.err);
    EXPECT_NE(outcome.status, 0);
    EXPECT_EQ(std::ranges::count_if(lines_of(outcome.err), is_error), 1);
    EXPECT_TRUE(is_error(outcome.err));
    EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos);
    EXPECT_THAT(outcome.err, HasSubstr("\\x1b[31m"));
  }
}

TEST(hostile_names, are_one_line_of_a_result_and_text_in_json) {
  const scratch directory;
  make_bad_files(directory);
  std::filesystem::copy_file(directory.path() / "good.pt", directory.path() / hostile_name);
  const auto run = [&](std::vector<std::string> words) {
    const auto outcome = run_troupe(call_in(directory, std::move(words)));
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos) << outcome.err;
    return outcome.out;
  };
  const std::vector<std::string> eval = {"eval", "--model", hostile_name, "--data", "mnist:good-mnist"};
  EXPECT_THAT(lines_of(run(eval)), ::testing::Contains("model          " + shown_name));
  EXPECT_THAT(lines_of(run({"plan", "--model", hostile_name})), ::testing::Contains("model       " + shown_name));
  EXPECT_THAT(run({"inspect", hostile_name}), ::testing::StartsWith(shown_name + ": a chain of"));
  auto json = eval;
  json.insert(json.end(), {"--json", "--output", "out"});
  const auto result = nlohmann::json::parse(run(json));
  EXPECT_EQ(result["model"], "a\nerror E0000: fake\x1b[31m\xef\xbf\xbd.pt");
  std::ifstream file(directory.path() / "out" / "result.json");
  EXPECT_EQ(nlohmann::json::parse(file)["model"], result["model"]);
}

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
