// Goal: `troupe eval --fault` hits real processes and the run gives the bits of an undisturbed one. Method: the built
// program; all faults that one run survives in one run.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/killer.hpp"
#include "tests/processes/lenet.hpp"
#include "tests/processes/undisturbed.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> with_faults(std::vector<std::string> arguments, const std::vector<std::string>& faults) {
  arguments.emplace_back("--processes");
  for (const std::string& each : faults) {
    arguments.emplace_back("--fault");
    arguments.push_back(each);
  }
  return arguments;
}

TEST(faults, of_processes_leave_the_bits_as_they_are) {
  const std::vector<std::string> faults = {"kill:stage=stage.1,at=mb7",
                                           "stop:stage=stage.0,at=mb30,for=0.1s",
                                           "exit:stage=2,at=mb20",
                                           "throw:stage=stage.0,at=mb15",
                                           "out_of_memory:stage=1,at=mb40",
                                           "slow:stage=stage.2,at=mb41,ms=2",
                                           "kill:loader,at=mb9",
                                           "kill:aggregator,at=mb50"};
  marked_run run(with_faults(with(lenet(16, 960), {"--stages", "3"}), faults));
  const auto outcome = run.run();
  SCOPED_TRACE(outcome.err);
  undisturbed::of(lenet(16, 960)).expect_same(outcome);
  const auto reported = nlohmann::json::parse(outcome.out)["faults"];
  ASSERT_EQ(reported.size(), faults.size());
  for (std::size_t i = 0; i < faults.size(); ++i) {
    EXPECT_EQ(reported[i]["times"], 1) << reported[i];
    EXPECT_THAT(outcome.err, HasSubstr("fault " + reported[i]["fault"].get<std::string>() + " was injected"));
  }
  for (const std::size_t deadly : {0, 2}) {
    EXPECT_TRUE(reported[deadly]["recovery_seconds"].is_number()) << reported[deadly];
    EXPECT_GT(reported[deadly]["replayed"], 0) << reported[deadly];
  }
  EXPECT_THAT(outcome.err, HasSubstr("killed by SIGKILL"));
  EXPECT_THAT(outcome.err, HasSubstr("exited with status 99"));
  run.expect_nothing_left();
}

TEST(faults, have_the_first_micro_batch_that_they_hit) {
  marked_run run(
      with_faults(with(lenet(16, 960), {"--stages", "2"}), {"slow:stage=stage.0,p=1,ms=1", "throw:stage=stage.1,p=1"}));
  const auto outcome = run.run();
  SCOPED_TRACE(outcome.err);
  undisturbed::of(lenet(16, 960)).expect_same(outcome);
  const auto result = nlohmann::json::parse(outcome.out);
  for (const auto& each : result["faults"]) EXPECT_EQ(each["micro_batch"], 0) << each;
}

/// The other replica goes on before the killed one is replaced: micro-batches are sent again for that, too.
TEST(faults, of_one_replica_have_all_that_was_sent_again_for_them) {
  marked_run run(
      with_faults(with(lenet(16, 960), {"--stages", "2", "--replicas", "2"}), {"kill:stage=stage.1,at=mb9"}));
  const auto outcome = run.run();
  SCOPED_TRACE(outcome.err);
  undisturbed::of(lenet(16, 960)).expect_same(outcome);
  const auto result = nlohmann::json::parse(outcome.out);
  EXPECT_GE(result["faults"][0]["replayed"], result["delivery"]["replayed"]);
}

TEST(faults, killed_driver_goes_on_from_its_journal) {
  const auto arguments = with(lenet(16, 960), {"--journal", killer::journal});
  marked_run run(with_faults(arguments, {"kill:driver,at=mb30"}));
  EXPECT_EQ(run.run().status, 128 + SIGKILL);
  run.expect_nothing_left({killer::journal});
  const auto outcome = run.run(with(arguments, {"--resume"}));
  SCOPED_TRACE(outcome.err);
  undisturbed::of(lenet(16, 960)).expect_same(outcome);
}

TEST(faults, that_hit_every_worker_of_a_stage_are_stopped_by_the_budget) {
  if (sanitized) GTEST_SKIP() << "processes_faulty_stage_test runs the same code";
  marked_run run(with_faults(lenet(16, 960), {"kill:stage=stage.0,p=1"}));
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 4) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("E0616"));
  EXPECT_THAT(outcome.err, HasSubstr("killed by SIGKILL"));
  EXPECT_THAT(outcome.err, HasSubstr("after the injected fault kill:stage=stage.0,p=1: "));
}

}  // namespace
}  // namespace troupe::testing
