// Goal: a run whose edges and control messages are disturbed gives the bits of an undisturbed one, whatever carries its
// edges. Method: the built program; many faults in one run, and the losses that only a time-out notices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/lenet.hpp"
#include "tests/processes/lots.hpp"
#include "tests/processes/marked_run.hpp"
#include "tests/processes/undisturbed.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

/// Short times, as some faults are noticed by them alone.
std::vector<std::string> under(const std::vector<std::string>& faults, const std::string& transport) {
  auto arguments = with(lenet(16, 960), {"--processes", "--stages", "2", "--transport", transport, "--worker-timeout",
                                         "2", "--start-deadline", "20"});
  for (const std::string& each : faults) {
    arguments.emplace_back("--fault");
    arguments.push_back(each);
  }
  return arguments;
}

program_outcome expect_survived(const std::vector<std::string>& faults, const std::string& transport) {
  marked_run run(under(faults, transport));
  auto outcome = run.run();
  SCOPED_TRACE(transport + ", stderr:\n" + outcome.err);
  undisturbed::of(lenet(16, 960)).expect_same(outcome);
  const auto reported = nlohmann::json::parse(outcome.out)["faults"];
  EXPECT_EQ(reported.size(), faults.size());
  for (const auto& each : reported) EXPECT_GE(each["times"], 1) << each;
  run.expect_nothing_left();
  return outcome;
}

/// The flipped bit is found by a checksum.
const std::vector<std::string> of_edges = {
    "drop:edge=loader-stage.0,at=msg9",       "duplicate:edge=stage.0-stage.1,p=0.1",
    "reorder:edge=loader-stage.0,p=0.1",      "delay:edge=stage.0-stage.1,p=0.05,ms=2",
    "delay:edge=loader-stage.0,at=0s,ms=1",   "partition:edge=stage.0-stage.1,at=msg25,for=0.2s",
    "truncate:edge=stage.0-stage.1,at=msg12", "corrupt:edge=stage.0-stage.1,at=msg30"};

TEST(edge_faults, of_shared_memory_leave_the_bits_as_they_are) {
  expect_survived(of_edges, "shm");
}

TEST(edge_faults, of_connections_leave_the_bits_as_they_are) {
  expect_survived(of_edges, "tcp");
}

/// The numbers of so few micro-batches reach into the messages of the stop, and beyond.
TEST(control_faults, that_strike_during_the_stop_are_reported) {
  std::vector<std::string> faults;
  for (int k = 1; k <= 30; ++k) faults.push_back("duplicate:control=driver-stage.0,at=msg" + std::to_string(k));
  auto arguments = with(lenet(16, 32), {"--processes", "--stages", "2"});
  for (const std::string& each : faults) arguments.insert(arguments.end(), {"--fault", each});
  marked_run run(arguments);
  const auto outcome = run.run();
  SCOPED_TRACE(outcome.err);
  undisturbed::of(lenet(16, 32)).expect_same(outcome);
  const auto reported = nlohmann::json::parse(outcome.out)["faults"];
  std::size_t injected = 0;
  for (const auto& each : reported) {
    const bool is_in_log = outcome.err.find("fault " + each["fault"].get<std::string>() + " was") != std::string::npos;
    EXPECT_EQ(each["times"], is_in_log ? 1 : 0) << each;
    injected += is_in_log ? 1 : 0;
  }
  EXPECT_GT(injected, 0U);
  EXPECT_LT(injected, faults.size());
  run.expect_nothing_left();
}

TEST(control_faults, leave_the_bits_as_they_are) {
  expect_survived({"delay:control=driver-stage.0,p=0.3,ms=5,jitter=5", "duplicate:control=driver-stage.1,at=msg5",
                   "corrupt:control=driver-stage.0,at=msg4", "reorder:control=driver-stage.1,at=msg3"},
                  "shm");
}

/// The links say again what was lost: nothing is computed twice, and no time-out passes.
TEST(control_faults, of_a_tenth_of_all_messages_leave_the_bits_as_they_are) {
  std::vector<std::string> faults;
  std::uint64_t seed = 3;
  for (const char* stage : {"0", "1"}) {
    for (const char* kind : {"drop", "duplicate", "reorder"}) {
      faults.push_back(std::string(kind) + ":control=driver-stage." + stage + tenth_that_hits(seed += 10));
    }
  }
  const auto outcome = expect_survived(faults, "shm");
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["delivery"]["replayed"], 0);
}

TEST(control_faults, that_lose_the_order_to_become_a_stage_cost_no_start_deadline) {
  expect_survived({"drop:control=driver-stage.1,at=msg1"}, "shm");
}

/// Of edges and control messages, each way: liveness alone notices it.
TEST(half_open_connections, are_replaced) {
  expect_survived({"half_open:edge=stage.0-stage.1,direction=forward,at=msg9",
                   "half_open:edge=loader-stage.0,direction=back,at=msg30",
                   "half_open:control=driver-stage.0,direction=back,at=msg8",
                   "half_open:control=driver-stage.1,direction=forward,at=msg9"},
                  "tcp");
}

TEST(closed_connections, are_replaced) {
  expect_survived({"close:edge=stage.0-stage.1,direction=forward,at=msg9", "close:edge=loader-stage.0,at=msg30",
                   "close:control=driver-stage.0,at=msg8"},
                  "tcp");
}

TEST(frozen_workers, are_replaced) {
  const auto outcome = expect_survived({"stop:stage=stage.1,at=mb9"}, "shm");
  EXPECT_GT(nlohmann::json::parse(outcome.out)["faults"][0]["recovery_seconds"], 0);
}

}  // namespace
}  // namespace troupe::testing
