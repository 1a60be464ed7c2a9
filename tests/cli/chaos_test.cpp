// Goal: `troupe chaos` tells a run that survives from one that does not, by status and object, and says how to do it
// again. Method: the built program on few samples; plans that are given and that are drawn from seeds.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <ratio>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

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
using ::testing::Not;
using ::testing::StartsWith;
using json = nlohmann::json;
namespace fs = std::filesystem;

std::vector<std::string> chaos_of(const std::vector<std::string>& more) {
  std::vector<std::string> all = {"chaos",
                                  "--model",
                                  fs::absolute(data_dir() / "mnist/lenet.pt").string(),
                                  "--data",
                                  "mnist:" + fs::absolute(data_dir() / "mnist").string(),
                                  "--micro-batch",
                                  "16",
                                  "--threads",
                                  "1",
                                  "--limit",
                                  "640",
                                  "--stages",
                                  "2"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(chaos, gives_the_bits_of_the_undisturbed_run_for_the_first_seeds) {
  for (const char* seed : fewer_if_sanitized(std::vector<const char*>{"1", "2", "3"}, {0})) {
    SCOPED_TRACE(seed);
    const auto outcome = run_troupe({.arguments = chaos_of({"--processes", "--seed", seed, "--json"})});
    ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    const json object = json::parse(outcome.out);
    EXPECT_EQ(object["bit_identical"], true);
    EXPECT_EQ(object["seed"], std::stoi(seed));
    EXPECT_EQ(object["delivery"]["folded"], 40);
    EXPECT_EQ(object["undisturbed"]["metrics"], object["metrics"]);
    EXPECT_EQ(object["faults"].size(), object["plan"].size());
    EXPECT_THAT(object["repeat"].get<std::string>(), HasSubstr("--fault"));
  }
}

/// Its time is twice that of one seed, so that a second one begins on a machine of any speed.
TEST(chaos, goes_on_from_seed_to_seed_until_its_time_is_over) {
  using minutes = std::chrono::duration<double, std::ratio<60>>;
  const auto before = std::chrono::steady_clock::now();
  ASSERT_EQ(run_troupe({.arguments = chaos_of({"--processes", "--seed", "7", "--json"})}).status, 0);
  const auto begin = std::chrono::steady_clock::now();
  const minutes time = std::max<minutes>(std::chrono::seconds{6}, 2 * (begin - before));
  program_call call{.arguments =
                        chaos_of({"--processes", "--seed", "7", "--minutes", std::to_string(time.count()), "--json"})};
  call.deadline += std::chrono::ceil<std::chrono::seconds>(time);  // it is asked to take so long
  const auto outcome = run_troupe(call);
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 0.99 * time) << "to_string() rounds";
  std::istringstream objects(outcome.out);
  int seed = 7;
  for (; objects >> std::ws && !objects.eof(); ++seed) {
    json object;
    objects >> object;
    EXPECT_EQ(object["seed"], seed);
    EXPECT_EQ(object["bit_identical"], true);
  }
  EXPECT_GE(seed, 7 + 2) << outcome.out;
}

TEST(chaos, draws_faults_of_stages_that_have_replicas) {
  for (const char* seed : {"1", "2", "3"}) {
    SCOPED_TRACE(seed);
    const auto outcome = run_troupe({.arguments = chaos_of({"--replicas", "2", "--seed", seed, "--json"})});
    ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    EXPECT_THAT(json::parse(outcome.out)["plan"].dump(), HasSubstr("stage="));
  }
}

TEST(chaos, draws_ends_of_the_driver_and_the_disk) {
  const std::vector<std::pair<const char*, const char*>> seeds = {{"3", "disk_full:journal"}, {"6", "kill:driver"}};
  for (const auto& [seed, fault] : seeds) {
    SCOPED_TRACE(seed);
    const auto outcome = run_troupe({.arguments = chaos_of({"--seed", seed, "--json"})});
    ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
    const json object = json::parse(outcome.out);
    EXPECT_THAT(object["plan"].back(), StartsWith(fault));
    EXPECT_EQ(object["bit_identical"], true);
    EXPECT_EQ(object["faults"].size(), object["plan"].size());
  }
}

std::vector<std::string> chaos_of_training(const std::vector<std::string>& more) {
  std::vector<std::string> all = chaos_of({"--loss", "nll", "--num-micro-batches", "4", "--steps", "6", "--processes"});
  all.insert(all.begin() + 1, "--train");
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(chaos_of_trainings, gives_the_losses_and_weights_of_the_undisturbed_one) {
  const auto outcome =
      run_troupe({.arguments = chaos_of_training({"--fault", "kill:stage=1,at=decision,step=2", "--fault",
                                                  "kill:stage=0,at=backward1,step=4", "--fault",
                                                  "kill:driver,at=decision,step=5", "--json"})});
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const json object = json::parse(outcome.out);
  EXPECT_EQ(object["bit_identical"], true);
  EXPECT_EQ(object["resumed"], true);
  EXPECT_EQ(object["losses"].size(), 6U);
  EXPECT_EQ(object["faults"].size(), 3U);
  EXPECT_THAT(object["repeat"].get<std::string>(), HasSubstr("troupe chaos --train"));
}

TEST(chaos_of_trainings, draws_faults_in_the_phases_of_steps) {
  const auto outcome = run_troupe({.arguments = chaos_of_training({"--fault-seed", "1", "--json"})});
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const json object = json::parse(outcome.out);
  EXPECT_EQ(object["bit_identical"], true);
  EXPECT_EQ(object["seed"], 1);
}

TEST(chaos_of_trainings, refuses_a_place_for_checkpoints) {
  const auto outcome = run_troupe({.arguments = chaos_of_training({"--save", "somewhere"})});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_THAT(outcome.err, HasSubstr("E0104"));
}

TEST(chaos, goes_on_after_the_death_of_the_driver) {
  const scratch directory;
  const auto outcome = run_troupe({.arguments = chaos_of({"--fault", "kill:driver,at=mb20"}),
                                   .environment = {"TMPDIR=" + directory.path().string()}});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("same bits  yes"));
  EXPECT_THAT(outcome.out, HasSubstr("resumed"));
  EXPECT_THAT(outcome.out, HasSubstr("kill:driver,at=mb20  injected; left out of the resumed run"));
  EXPECT_THAT(outcome.out, HasSubstr("repeat     troupe chaos --model"));
  EXPECT_TRUE(fs::is_empty(directory.path())) << "its folder is left";
  EXPECT_THAT(outcome.err, HasSubstr("640/640 samples")) << "it shows the log";
  EXPECT_THAT(outcome.err, Not(HasSubstr("wrote")));
}

TEST(chaos, tells_of_all_faults_where_it_resumed) {
  const auto outcome = run_troupe(
      {.arguments = chaos_of({"--fault", "slow:stage=stage.1,p=1,ms=1", "--fault", "disk_full:journal,at=mb20",
                              "--fault", "throw:stage=stage.1,at=mb3", "--json"})});
  ASSERT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const json object = json::parse(outcome.out);
  EXPECT_EQ(object["resumed"], true);
  EXPECT_EQ(object["bit_identical"], true);
  ASSERT_EQ(object["faults"].size(), 3U);
  EXPECT_GT(object["faults"][0]["times"], 10) << "in the second evaluation";
  EXPECT_EQ(object["faults"][1]["fault"], "disk_full:journal,at=mb20");
  EXPECT_EQ(object["faults"][1]["note"], "injected; left out of the resumed run");
  for (const auto& [member, of_first] : object["faults"][0].items()) {
    EXPECT_TRUE(object["faults"][1].contains(member)) << member;
  }
  EXPECT_EQ(object["faults"][1]["times"], nullptr) << "its log has it";
  EXPECT_EQ(object["faults"][2]["note"], "injected before the run was resumed; its log has the cost");
}

TEST(chaos, says_that_a_run_does_not_survive_and_why) {
  if (sanitized) GTEST_SKIP() << "processes_faulty_stage_test runs the same code";
  const auto outcome =
      run_troupe({.arguments = chaos_of({"--processes", "--fault", "kill:stage=stage.1,p=1", "--json"})});
  EXPECT_EQ(outcome.status, 4) << outcome.out << outcome.err;
  const json object = json::parse(outcome.out);
  EXPECT_EQ(object["bit_identical"], false);
  EXPECT_THAT(object["objection"].get<std::string>(), HasSubstr("exited with status 4"));
  ASSERT_EQ(object["faults"].size(), 1u) << object;
  EXPECT_EQ(object["faults"][0]["fault"], "kill:stage=stage.1,p=1");
  EXPECT_THAT(object["faults"][0]["note"].get<std::string>(), HasSubstr("ended with an error"));
}

/// The end of the driver is in the plan, and its moment does not come.
TEST(chaos, does_not_go_on_after_an_end_that_is_not_the_plans) {
  if (sanitized) GTEST_SKIP() << "the other tests run the same code";
  const auto outcome =
      run_troupe({.arguments = chaos_of({"--processes", "--fault", "kill:stage=stage.1,p=1", "--fault",
                                         "kill:driver,at=mb39", "--fault", "disk_full:journal,at=mb39", "--json"})});
  EXPECT_EQ(outcome.status, 4) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.err, Not(HasSubstr("goes on with its journal")));
  EXPECT_THAT(json::parse(outcome.out)["objection"].get<std::string>(), HasSubstr("exited with status 4"));
}

TEST(chaos, refuses_what_contradicts_it) {
  const auto journal = run_troupe({.arguments = chaos_of({"--journal", "x"})});
  EXPECT_EQ(journal.status, 2);
  EXPECT_THAT(journal.err, HasSubstr("E0104"));
  const auto both = run_troupe({.arguments = chaos_of({"--seed", "1", "--fault", "kill:loader,at=mb1"})});
  EXPECT_EQ(both.status, 2);
  EXPECT_THAT(both.err, HasSubstr("E0104"));
  const auto bad = run_troupe({.arguments = chaos_of({"--fault", "kill:lodaer"})});
  EXPECT_EQ(bad.status, 2);
  EXPECT_THAT(bad.err, HasSubstr("E0109"));
  const auto time = run_troupe({.arguments = chaos_of({"--minutes", "soon"})});
  EXPECT_EQ(time.status, 2);
  EXPECT_THAT(time.err, HasSubstr("\"soon\", expected minutes from 0.001 to"));
}

TEST(chaos, refuses_a_plan_that_does_not_fit_before_it_evaluates) {
  for (const char* fault : {"throw:stage=stage.2,at=mb1", "throw:stage=stage.1,at=mb40", "kill:stage=stage.1,at=mb1",
                            "kill:node=w1,at=mb1"}) {
    const auto refused = run_troupe({.arguments = chaos_of({"--fault", "disk_full:journal,at=mb1", "--fault", fault})});
    EXPECT_EQ(refused.status, 2) << fault;
    EXPECT_THAT(refused.err, HasSubstr("E0109: --fault (2 of 2): fault \"" + std::string(fault)));
    EXPECT_THAT(refused.err, Not(HasSubstr("undisturbed")));
  }
}

/// That live, and in whose command line this text is.
std::vector<pid_t> processes_with(const std::string& text) {
  std::vector<pid_t> found;
  for (const auto& each : fs::directory_iterator("/proc")) {
    std::ifstream line(each.path() / "cmdline", std::ios::binary);
    const bool has_text = std::string(std::istreambuf_iterator<char>(line), {}).find(text) != std::string::npos;
    if (has_text) found.push_back(std::stoi(each.path().filename()));
  }
  return found;
}

/// Without an end it would go on for an hour.
TEST(chaos, ends_with_the_first_seed_that_fails) {
  if (sanitized) GTEST_SKIP() << "the other tests run the same code";
  const scratch temporary;
  program_call call{.arguments = chaos_of({"--processes", "--seed", "7", "--minutes", "60", "--json"}),
                    .environment = {"TMPDIR=" + temporary.path().string()}};
  bool is_due = false;
  call.on_stderr = [&](const std::string& so_far) {
    is_due = so_far.find("disturbed, seed 8") != std::string::npos;
    return std::vector<int>{};
  };
  call.on_tick = [&] {
    if (!is_due) return std::vector<int>{};
    for (const pid_t each : processes_with(temporary.path().string())) ::kill(each, SIGKILL);
    return std::vector<int>{};
  };
  const auto outcome = run_troupe(call);
  EXPECT_NE(outcome.status, 0) << outcome.out;
  std::vector<json> verdicts;
  for (std::istringstream objects(outcome.out); objects >> std::ws && !objects.eof();) {
    objects >> verdicts.emplace_back();
  }
  ASSERT_GE(verdicts.size(), 2u) << outcome.err;
  EXPECT_EQ(verdicts.back()["bit_identical"], false);
  EXPECT_THAT(verdicts.back()["objection"].get<std::string>(), HasSubstr("SIGKILL"));
  verdicts.pop_back();
  for (const json& each : verdicts) EXPECT_EQ(each["bit_identical"], true) << each;
}

/// Signals chaos as soon as it has a folder.
program_call signalled_chaos(const scratch& temporary, int signal) {
  program_call call{.arguments = chaos_of({"--fault", "kill:loader,at=mb1"}),
                    .environment = {"TMPDIR=" + temporary.path().string()}};
  call.on_stderr = [signal, sent = false](const std::string& so_far) mutable {
    if (sent || so_far.find("undisturbed") == std::string::npos) return std::vector<int>{};
    sent = true;
    return std::vector<int>{signal};
  };
  return call;
}

TEST(chaos, killed_leaves_no_process_and_the_next_one_removes_its_folder) {
  const scratch temporary;
  const auto killed = run_troupe(signalled_chaos(temporary, SIGKILL));
  ASSERT_EQ(killed.status, 128 + SIGKILL) << killed.err;
  while (!processes_with(temporary.path().string()).empty()) std::this_thread::yield();
  const auto left = temporary.entries();
  ASSERT_FALSE(left.empty());
  fs::last_write_time(temporary.path() / *left.begin(), fs::file_time_type::clock::now() - std::chrono::minutes(2));
  const auto ended = run_troupe(signalled_chaos(temporary, SIGTERM));
  EXPECT_EQ(ended.status, 130) << ended.err;
  EXPECT_TRUE(temporary.entries().empty());
  EXPECT_TRUE(processes_with(temporary.path().string()).empty());
}

}  // namespace
}  // namespace troupe::testing
