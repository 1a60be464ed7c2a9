// Goal: a `troupe eval` that was killed at any moment goes on from its journal and gives the bits of an undisturbed
// one; what cannot go on is refused. Method: the built program; signals are sent when the journal has grown to a
// certain size; metrics are compared as the words of their doubles.
#include <bit>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "tests/cli/program.hpp"
#include "tests/cli/scratch.hpp"
#include "tests/support/paths.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using json = nlohmann::json;
namespace fs = std::filesystem;

constexpr int killed = 128 + SIGKILL;
constexpr std::uint64_t micro_batches = 600;

std::vector<std::string> lenet(std::vector<std::string> more) {
  std::vector<std::string> all = {"eval",
                                  "--model",
                                  fs::absolute(data_dir() / "mnist/lenet.pt").string(),
                                  "--data",
                                  "mnist:" + fs::absolute(data_dir() / "mnist").string(),
                                  "--micro-batch",
                                  "8",
                                  "--threads",
                                  "1",
                                  "--limit",
                                  "4800",
                                  "--json"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

std::uintmax_t size_of(const fs::path& file) {
  std::error_code missing;
  const auto size = fs::file_size(file, missing);
  return missing ? 0 : size;
}

/// Every number of the metrics, doubles as their words.
std::vector<std::uint64_t> words_of(const json& metrics) {
  std::vector<std::uint64_t> words;
  for (const auto& [metric, fields] : metrics.items()) {
    for (const auto& [name, value] : fields.items()) {
      words.push_back(value.is_number_integer() ? value.get<std::uint64_t>()
                                                : std::bit_cast<std::uint64_t>(value.get<double>()));
    }
  }
  return words;
}

class journaled : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const scratch directory;
    program_call call{.arguments = lenet({"--journal", "whole.journal"})};
    call.directory = directory.path().string();
    const auto outcome = run_troupe(call);
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    undisturbed_ = words_of(json::parse(outcome.out)["metrics"]);
    journal_bytes_ = size_of(directory.path() / "whole.journal");
    ASSERT_EQ(undisturbed_, words_of(json::parse(run_troupe({.arguments = lenet({})}).out)["metrics"]));
  }

  [[nodiscard]] fs::path journal() const { return directory_.path() / "run.journal"; }
  /// Sends `signal` once, when the journal has grown to `share` of a whole one; no signal without a share.
  program_outcome run(std::vector<std::string> more, double share = 0, int signal = SIGKILL) {
    more.insert(more.end(), {"--journal", "run.journal"});
    program_call call{.arguments = lenet(std::move(more))};
    call.directory = directory_.path().string();
    if (share > 0) {
      const auto enough = static_cast<std::uintmax_t>(share * static_cast<double>(journal_bytes_));
      call.on_tick = [this, enough, signal, sent = false]() mutable {
        if (sent || size_of(journal()) < enough) return std::vector<int>{};
        sent = true;
        return std::vector<int>{signal};
      };
    }
    return run_troupe(call);
  }
  void expect_whole(const program_outcome& outcome) {
    ASSERT_EQ(outcome.status, 0) << outcome.err;
    const json result = json::parse(outcome.out);
    EXPECT_EQ(words_of(result["metrics"]), undisturbed_);
    EXPECT_EQ(result["samples"], 4800);
    EXPECT_EQ(result["delivery"]["expected"], micro_batches);
    EXPECT_EQ(result["delivery"]["folded"], micro_batches);
    EXPECT_EQ(result["delivery"]["lost"], 0);
    EXPECT_GT(result["delivery"]["resumed"], 0);
    std::uint64_t evaluated = 0;
    for (const json& stage : result["stages"]) {
      if (stage["name"].get<std::string>().starts_with("stage 0"))
        evaluated += stage["micro_batches"].get<std::uint64_t>();
    }
    EXPECT_EQ(evaluated + result["delivery"]["resumed"].get<std::uint64_t>(), micro_batches);
    EXPECT_FALSE(result.contains("partial"));
  }

  static std::vector<std::uint64_t> undisturbed_;
  static std::uintmax_t journal_bytes_;
  scratch directory_;
};
std::vector<std::uint64_t> journaled::undisturbed_;
std::uintmax_t journaled::journal_bytes_ = 0;

TEST_F(journaled, killed_again_and_again_gives_the_bits_of_an_undisturbed_run) {
  const std::vector<std::vector<std::string>> layouts = {{"--stages", "2"}, {"--replicas", "2"}, {"--stages", "3"}};
  int kills = 0;
  for (int moment = 0; moment < (sanitized ? 4 : 8); ++moment) {
    std::vector<std::string> more = layouts[static_cast<std::size_t>(moment) % layouts.size()];
    if (moment > 0) more.emplace_back("--resume");
    const auto before = size_of(journal());
    const auto outcome = run(more, 0.02 + 0.11 * moment);
    // A machine that is busy may let it end before it is killed.
    ASSERT_TRUE(outcome.status == killed || outcome.status == 0) << outcome.status << outcome.err;
    kills += outcome.status == killed ? 1 : 0;
    EXPECT_GE(size_of(journal()) + 100, before) << "no more than a record that was cut is taken back";
  }
  EXPECT_GE(kills, sanitized ? 1 : 3);
  expect_whole(run({"--resume", "--stages", "2", "--replicas", "2"}));

  const auto again = run({"--resume"});
  expect_whole(again);
  EXPECT_EQ(json::parse(again.out)["delivery"]["resumed"], micro_batches);
  EXPECT_EQ(size_of(journal()), journal_bytes_);
}

TEST_F(journaled, goes_on_with_another_cut_in_worker_processes) {
  const auto first = run({"--stages", "2", "--partition", "0,14,15"});
  ASSERT_EQ(first.status, 0) << first.err;
  const auto again = run({"--stages", "3", "--partition", "0,2,9,15", "--resume", "--processes"});
  ASSERT_EQ(again.status, 0) << again.err;
  const json result = json::parse(again.out);
  EXPECT_EQ(result["delivery"]["resumed"], micro_batches);
  EXPECT_EQ(result["stages"][1]["layers"].size(), 7U);
  EXPECT_EQ(words_of(result["metrics"]), words_of(json::parse(first.out)["metrics"]));
}

TEST_F(journaled, killed_with_a_record_cut_goes_on_and_refuses_another_run) {
  ASSERT_EQ(run({}, 0.5).status, killed);
  fs::resize_file(journal(), size_of(journal()) - 5);
  const std::string before = file_content(journal());
  program_call call{.arguments = lenet({"--journal", "run.journal", "--resume", "--metrics", "accuracy"})};
  call.directory = directory_.path().string();
  for (std::string& each : call.arguments) each = each == "8" ? "16" : each;
  const auto refused = run_troupe(call);
  EXPECT_EQ(refused.status, 3);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, HasSubstr("error E0801: run.journal: micro_batch was 8 and is 16; "
                                     "metrics was accuracy,cross_entropy and is accuracy\n"));
  const auto without_resume = run({});
  EXPECT_EQ(without_resume.status, 1);
  EXPECT_THAT(without_resume.err, HasSubstr("error E0803: run.journal: it exists already"));
  EXPECT_EQ(file_content(journal()), before);
  expect_whole(run({"--resume"}));
}

TEST_F(journaled, interrupted_goes_on) {
  const auto drained = run({}, 0.2, SIGINT);
  ASSERT_EQ(drained.status, 130) << drained.err;
  const json partial = json::parse(drained.out);
  EXPECT_EQ(partial["partial"], true);
  EXPECT_EQ(partial["errors"][0]["fix"], "run it again with --resume, which does the rest");
  const auto whole = run({"--resume"});
  expect_whole(whole);
  // A drain finishes the micro-batches under way, and keeps all of them.
  EXPECT_EQ(json::parse(whole.out)["delivery"]["resumed"], partial["delivery"]["folded"]);
}

TEST_F(journaled, damaged_in_the_middle_is_refused) {
  ASSERT_EQ(run({}, 0.2).status, killed);
  std::string content = file_content(journal());
  content[content.size() / 2] ^= 1;
  directory_.write("run.journal", content);
  const auto outcome = run({"--resume"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("error E0802: run.journal, byte "));
}

TEST_F(journaled, on_a_full_disk_fails_and_goes_on_when_there_is_room) {
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit limited = before;
  limited.rlim_cur = journal_bytes_ / 3;
  ::setrlimit(RLIMIT_FSIZE, &limited);  // the program inherits it
  const auto outcome = run({});
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("error E0803: run.journal: File too large"));
  expect_whole(run({"--resume"}));
}

}  // namespace
}  // namespace troupe::testing
