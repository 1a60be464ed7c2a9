// Goal: each fault that the pages call survived leaves the bits as they are, wherever in the run it strikes. Method:
// the built program; a seed draws the moment. Three seeds for each; TROUPE_FAULT_SEEDS=30 tries so many.
#include <csignal>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/killer.hpp"
#include "tests/processes/lenet.hpp"
#include "tests/processes/lots.hpp"
#include "tests/processes/marked_run.hpp"
#include "tests/processes/undisturbed.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using arguments = std::vector<std::string>;

/// 60 micro-batches.
const arguments whole = lenet(16, 960);

class moment {
 public:
  explicit moment(std::uint64_t seed) : draw_(seed) {}
  /// ",at=mb17", ",at=msg9".
  std::string micro_batch(int first = 1) { return ",at=mb" + std::to_string(between(first, 55)); }
  std::string message(int from, int to) { return ",at=msg" + std::to_string(between(from, to)); }
  int between(int from, int to) { return std::uniform_int_distribution<int>(from, to)(draw_); }

 private:
  std::mt19937_64 draw_;
};

struct fault_scenario {
  const char* name;
  std::function<arguments(moment& when)> faults;
  arguments options = {};
};

constexpr int cannot_write = 1;

/// Noticed by silence alone.
const arguments over_tcp = {"--transport", "tcp", "--worker-timeout", "2"};

const std::vector<fault_scenario> survived = {
    {"first_stage", [](moment& when) { return arguments{"kill:stage=stage.0" + when.micro_batch()}; }},
    {"middle_stage", [](moment& when) { return arguments{"kill:stage=stage.1" + when.micro_batch()}; }},
    {"last_stage", [](moment& when) { return arguments{"kill:stage=stage.2" + when.micro_batch()}; }},
    {"stage_and_its_spare",
     [](moment& when) {
       // the spare first: its successor takes a while to be there
       return arguments{"kill:worker=3,at=0.00" + std::to_string(when.between(1, 9)) + "s",
                        "kill:stage=stage.1" + when.micro_batch(24)};
     }},
    {"loader", [](moment& when) { return arguments{"kill:loader" + when.micro_batch()}; }},
    {"aggregator", [](moment& when) { return arguments{"kill:aggregator" + when.micro_batch()}; }},
    {"freeze_and_thaw",
     [](moment& when) { return arguments{"stop:stage=stage.1" + when.micro_batch() + ",for=0.3s"}; }},
    {"half_open_forward",
     [](moment& when) { return arguments{"half_open:edge=stage.0-stage.1,direction=forward" + when.message(2, 40)}; },
     over_tcp},
    {"half_open_back",
     [](moment& when) { return arguments{"half_open:edge=stage.0-stage.1,direction=back" + when.message(2, 40)}; },
     over_tcp},
    {"flipped_bit_in_shared_memory",
     [](moment& when) { return arguments{"corrupt:edge=stage.0-stage.1" + when.message(2, 40)}; }},
    {"flipped_bit_over_tcp",
     [](moment& when) { return arguments{"corrupt:edge=stage.0-stage.1" + when.message(2, 40)}; }, over_tcp},
    {"lost_control_messages",
     [](moment& when) {
       const auto lot = [&] { return tenth_that_hits(static_cast<std::uint64_t>(when.between(1, 1000))); };
       return arguments{"drop:control=driver-stage.0" + lot(), "duplicate:control=driver-stage.1" + lot(),
                        "reorder:control=driver-stage.2" + lot()};
     }},
};

std::vector<std::uint64_t> seeds() {
  const char* const asked = std::getenv("TROUPE_FAULT_SEEDS");
  const std::uint64_t count = asked != nullptr ? std::strtoull(asked, nullptr, 10) : sanitized ? 1 : 3;
  std::vector<std::uint64_t> found(count);
  for (std::uint64_t seed = 0; seed < count; ++seed) found[seed] = seed + 1;
  return found;
}

arguments with_faults(arguments all, const arguments& faults) {
  for (const std::string& each : faults) all.insert(all.end(), {"--fault", each});
  return all;
}

/// The seed of a case, which no other case shares.
moment moment_of(std::size_t place, std::uint64_t seed) {
  return moment(1000 * place + seed);
}

class faults_at_drawn_moments : public ::testing::TestWithParam<std::size_t> {};

TEST_P(faults_at_drawn_moments, leave_the_bits_as_they_are) {
  const fault_scenario& one = survived.at(GetParam());
  for (const std::uint64_t seed : seeds()) {
    moment when = moment_of(GetParam(), seed);
    const arguments faults = one.faults(when);
    SCOPED_TRACE(::testing::PrintToString(faults));
    marked_run run(with_faults(with(with(whole, {"--processes", "--stages", "3"}), one.options), faults));
    const auto outcome = run.run();
    SCOPED_TRACE(outcome.err);
    undisturbed::of(whole).expect_same(outcome);
    const auto result = nlohmann::json::parse(outcome.out);
    std::uint64_t costs = 0;
    for (const auto& each : result["faults"]) {
      EXPECT_GE(each["times"], 1) << each;
      // a spare that dies, or a freeze that thaws, costs nothing
      costs += each["replayed"].get<std::uint64_t>();
    }
    EXPECT_GE(costs, result["delivery"]["replayed"]) << "what was sent again has its fault";
    run.expect_nothing_left();
  }
}

INSTANTIATE_TEST_SUITE_P(of, faults_at_drawn_moments, ::testing::Range(std::size_t{0}, survived.size()),
                         [](const auto& one) { return std::string(survived.at(one.param).name); });

class runs_that_end_and_go_on : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(runs_that_end_and_go_on, give_the_bits_of_an_undisturbed_one) {
  const auto& [fault, status] = GetParam();
  for (const std::uint64_t seed : seeds()) {
    moment when = moment_of(100, seed);
    const arguments journaled = with(whole, {"--processes", "--stages", "3", "--journal", killer::journal});
    marked_run run(with_faults(journaled, {fault + when.micro_batch()}));
    const auto ended = run.run();
    SCOPED_TRACE(ended.err);
    EXPECT_EQ(ended.status, status);
    run.expect_nothing_left({killer::journal});
    const auto outcome = run.run(with(journaled, {"--resume"}));
    SCOPED_TRACE(outcome.err);
    undisturbed::of(whole).expect_same(outcome);
  }
}

INSTANTIATE_TEST_SUITE_P(by, runs_that_end_and_go_on,
                         ::testing::Values(std::tuple{std::string("kill:driver"), 128 + SIGKILL},
                                           std::tuple{std::string("disk_full:journal,bytes=20"), cannot_write}),
                         [](const auto& one) { return std::get<1>(one.param) == cannot_write ? "disk" : "driver"; });

/// Metrics that keep rows of every sample, sums or counts, with intervals, for which all of them keep rows.
const arguments with_rows = with(
    whole, {"--metrics",
            "auroc,average_precision:average=micro,accuracy,f1:average=macro,cohen_kappa:weights=quadratic,matthews,"
            "calibration_error,cross_entropy:label_smoothing=0.1",
            "--confidence", "0.9", "--bootstrap-resamples", "20"});

TEST(metrics_with_rows, have_the_same_bits_when_workers_are_killed) {
  for (const std::uint64_t seed : seeds()) {
    moment when = moment_of(400, seed);
    marked_run run(with_faults(with(with_rows, {"--processes", "--stages", "3"}),
                               {"kill:stage=stage.0" + when.micro_batch(), "kill:stage=stage.2" + when.micro_batch()}));
    const auto outcome = run.run();
    SCOPED_TRACE(outcome.err);
    undisturbed::of(with_rows).expect_same(outcome);
    const auto result = nlohmann::json::parse(outcome.out);
    EXPECT_GE(result["delivery"]["replayed"], 1);
    const auto& auroc = result["metrics"]["auroc"];
    EXPECT_EQ(auroc["count"], 960);
    EXPECT_LT(auroc["low"], auroc["high"]);
    run.expect_nothing_left();
  }
}

TEST(metrics_with_rows, have_the_same_bits_when_a_driver_is_killed_and_its_run_resumed) {
  moment when = moment_of(401, 1);
  const arguments journaled = with(with_rows, {"--processes", "--stages", "3", "--journal", killer::journal});
  marked_run run(with_faults(journaled, {"kill:driver" + when.micro_batch()}));
  EXPECT_EQ(run.run().status, 128 + SIGKILL);
  const auto outcome = run.run(with(journaled, {"--resume"}));
  SCOPED_TRACE(outcome.err);
  undisturbed::of(with_rows).expect_same(outcome);
}

/// Four scenarios at once over tcp, half of the time with an end of the whole run, by the driver's death or a full
/// disk.
struct swarm {
  arguments faults;
  std::optional<int> ends_with;
};

swarm draw_swarm(moment& when) {
  swarm drawn;
  std::vector<std::size_t> left(survived.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  for (int count = 0; count < 4; ++count) {
    const auto place = left.begin() + when.between(0, static_cast<int>(left.size()) - 1);
    const arguments more = survived[*place].faults(when);
    drawn.faults.insert(drawn.faults.end(), more.begin(), more.end());
    left.erase(place);
  }
  const int end = when.between(0, 3);
  if (end == 0) {
    drawn.faults.push_back("kill:driver" + when.micro_batch());
    drawn.ends_with = 128 + SIGKILL;
  } else if (end == 1) {
    drawn.faults.push_back("disk_full:journal,bytes=20" + when.micro_batch());
    drawn.ends_with = cannot_write;
  }
  return drawn;
}

TEST(a_swarm_of_faults, leaves_the_bits_as_they_are_once_it_has_passed) {
  for (const std::uint64_t seed : seeds()) {
    moment when = moment_of(300, seed);
    const swarm drawn = draw_swarm(when);
    SCOPED_TRACE(::testing::PrintToString(drawn.faults));
    arguments journaled = with(whole, {"--processes", "--stages", "3", "--journal", killer::journal});
    journaled.insert(journaled.end(), over_tcp.begin(), over_tcp.end());
    marked_run run(with_faults(journaled, drawn.faults));
    auto outcome = run.run();
    SCOPED_TRACE(outcome.err);
    run.expect_nothing_left({killer::journal});
    if (drawn.ends_with) {
      EXPECT_EQ(outcome.status, drawn.ends_with);
      outcome = run.run(with(journaled, {"--resume"}));
      SCOPED_TRACE(outcome.err);
    }
    undisturbed::of(whole).expect_same(outcome);
  }
}

TEST(a_crash_loop, is_stopped_by_the_budget_wherever_it_begins) {
  for (const std::uint64_t seed : seeds()) {
    const std::string stage = std::to_string(seed % 3);
    marked_run run(with_faults(with(whole, {"--processes", "--stages", "3"}), {"kill:stage=stage." + stage + ",p=1"}));
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, 4) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("error E0616: stage " + stage));
    EXPECT_THAT(outcome.err, HasSubstr("the first time: killed by SIGKILL"));
    run.expect_nothing_left();
  }
}

TEST(a_micro_batch_that_kills_every_worker, is_named) {
  for (const std::uint64_t seed : seeds()) {
    const int sample = moment_of(200, seed).between(5, 395);
    marked_run run({"fault=abort", "at=" + std::to_string(sample)}, FAULTY_PROGRAM);
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, 4) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("call 0, micro-batch " + std::to_string(sample / 4))) << sample;
    EXPECT_THAT(outcome.err, HasSubstr("it worked on this micro-batch every time"));
    run.expect_nothing_left();
  }
}

}  // namespace
}  // namespace troupe::testing
