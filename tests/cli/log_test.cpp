// Goal: the log of `troupe eval` goes to stderr or to a file, as lines of text or of JSON that say rank and stage, from
// the level asked for on; stdout holds the result alone. Method: the built program, and a model that prints.
#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/model_archive.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using json = nlohmann::json;

constexpr const char* printed = "line of the model \x1b[2J";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) lines.push_back(line);
  return lines;
}

/// A model that prints the same line at every micro-batch, in a worker process.
struct log : ::testing::Test {
  log() {
    directory.write("model.pt", model_archive(net_code(net_forward("    print(\"line of the model \\033[2J\")\n"))));
  }

  [[nodiscard]] program_outcome eval(const std::vector<std::string>& more) const {
    program_call call{.arguments = {"eval", "--model", "model.pt", "--data",
                                    "mnist:" + std::filesystem::absolute(data_dir() / "mnist").string(), "--limit",
                                    "64", "--micro-batch", "4", "--allow-effects", "--processes", "--json"}};
    call.arguments.insert(call.arguments.end(), more.begin(), more.end());
    call.directory = directory.path().string();
    auto outcome = run_troupe(call);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_TRUE(json::accept(outcome.out)) << outcome.out;
    return outcome;
  }
  [[nodiscard]] std::string content(const std::string& file) const { return file_content(directory.path() / file); }

  scratch directory;
};

TEST_F(log, is_on_stderr_with_rank_and_stage_and_limits_repeats) {
  const std::string err = eval({}).err;
  EXPECT_THAT(err, ContainsRegex("\\[stage 0, rank [0-9]+\\] line of the model \\\\x1b\\[2J\n")) << err;
  EXPECT_THAT(err, ContainsRegex("\\[stage 0, rank [0-9]+\\] \\.\\.\\. 1[0-9] more like this: line of the model"))
      << err;
  const auto lines = lines_of(err);
  const auto of_stage = std::ranges::count_if(lines, [](const auto& line) { return line.starts_with("[stage 0, "); });
  EXPECT_EQ(of_stage, 2) << err;
}

TEST_F(log, goes_to_a_file_that_is_appended_to) {
  directory.write("run.log", "before\n");
  const auto outcome = eval({"--log", "run.log"});
  EXPECT_THAT(outcome.err, Not(HasSubstr("line of the model")));
  EXPECT_THAT(content("run.log"), ::testing::StartsWith("before\n20"));
  EXPECT_THAT(content("run.log"),
              ContainsRegex("\n[0-9]{4}-[0-9-]+T[0-9:.]+Z \\[stage 0, rank [0-9]+\\] line of the model"));
}

TEST_F(log, as_json_has_an_object_per_line) {
  static_cast<void>(eval({"--log", "run.log", "--log-format", "json", "--log-level", "debug"}));
  std::size_t printed_by_stage = 0;
  std::size_t started = 0;
  for (const std::string& line : lines_of(content("run.log"))) {
    const json object = json::parse(line);
    EXPECT_EQ(object["time"].get<std::string>().size(), std::string("2026-02-03T04:05:06.789Z").size()) << line;
    const auto message = object["message"].get<std::string>();
    if (message == printed && object["stage"] == "stage 0") {
      ++printed_by_stage;
      EXPECT_EQ(object["level"], "info");
      EXPECT_TRUE(object["rank"].is_number()) << line;
    }
    if (message.ends_with("was started")) ++started;
  }
  EXPECT_EQ(printed_by_stage, 1U) << content("run.log");
  EXPECT_GE(started, 1U) << content("run.log");
}

TEST_F(log, as_json_goes_to_stderr_too) {
  const std::string err = eval({"--log-format", "json"}).err;
  const auto lines = lines_of(err);
  const auto found = std::ranges::find_if(lines, [](const std::string& line) { return line.starts_with("{"); });
  ASSERT_NE(found, lines.end()) << err;
  EXPECT_EQ(json::parse(*found)["message"], printed);
}

TEST_F(log, begins_at_the_level_asked_for) {
  EXPECT_THAT(eval({"--log-level", "warning"}).err, Not(HasSubstr("line of the model")));
}

}  // namespace
}  // namespace troupe::testing
