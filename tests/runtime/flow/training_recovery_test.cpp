// Goal: whatever moment a new epoch comes at, and whichever engine died before it, weights and scores are those of a
// plain loop: each step is done once, by weights that all stages agree on. Method: real engines in one thread. The runs
// of one seed are equal up to the moment at which they are disturbed, and the moments are spread over the whole run;
// beside that, each phase by name.
#include <random>

#include <gmock/gmock.h>

#include "tests/support/sanitized.hpp"
#include "training_pipeline.hpp"

namespace troupe::testing {
namespace {

const std::vector<planned_call> mixed_calls{{.trains = true, .micro_batches = 5},
                                            {.trains = false, .micro_batches = 3},
                                            {.trains = true, .micro_batches = 6, .empty = {0, 3}},
                                            {.trains = true, .micro_batches = 1},
                                            {.trains = true, .micro_batches = 4, .is_skipped = true},
                                            {.trains = true, .micro_batches = 3}};

stage_address drawn(std::mt19937_64& chance, const training_setup& setup) {
  return {static_cast<stage_index>(chance() % setup.stages), static_cast<replica_index>(chance() % setup.replicas)};
}

/// Kills up to two engines, one after another, and begins an epoch, at once or after some turns.
void disturb(training_pipeline& run, std::mt19937_64& chance, const training_setup& setup) {
  for (std::uint64_t deaths = chance() % 3; deaths > 0; --deaths) {
    run.kill(drawn(chance, setup));
    const std::uint64_t until = run.turns() + chance() % 100;
    run.run_until([&] { return run.turns() >= until; });
  }
  run.start_epoch(chance() % 2 == 0);
}

void expect_plain_outcome(training_pipeline& run, const training_setup& setup) {
  ASSERT_TRUE(run.run()) << "it is blocked";
  ASSERT_EQ(run.outcome(), plain_training(setup.stages, setup.replicas, setup.calls, setup.tied));
  ASSERT_TRUE(run.failures.empty()) << to_string(run.failures.front().cause);
  ASSERT_TRUE(run.has_all_slots_back());
  ASSERT_TRUE(run.stop());
}

struct shape {
  std::uint32_t stages;
  std::uint32_t replicas;
  std::vector<stage_index> tied = {};
};

class training_recovery : public ::testing::TestWithParam<shape> {};
INSTANTIATE_TEST_SUITE_P(shapes, training_recovery,
                         ::testing::Values(shape{1, 1}, shape{3, 1}, shape{4, 1}, shape{1, 2}, shape{2, 2}, shape{3, 4},
                                           shape{3, 1, {0, 2}}, shape{4, 2, {0, 1, 3}}),
                         [](const auto& each) {
                           return std::to_string(each.param.stages) + "x" + std::to_string(each.param.replicas) +
                                  (each.param.tied.empty() ? "" : "_tied");
                         });

TEST_P(training_recovery, at_every_moment_gives_the_numbers_of_a_plain_loop) {
  const training_setup setup{
      .stages = GetParam().stages, .replicas = GetParam().replicas, .calls = mixed_calls, .tied = GetParam().tied};
  training_pipeline undisturbed(setup);
  ASSERT_TRUE(undisturbed.run());
  const std::uint64_t moments = sanitized ? 20 : 100;
  for (std::uint64_t each = 0; each < moments; ++each) {
    SCOPED_TRACE("moment " + std::to_string(each));
    std::mt19937_64 chance(each + 1);
    training_pipeline run(setup);
    const std::uint64_t until = undisturbed.turns() * each / moments;
    run.run_until([&] { return run.turns() >= until; });
    disturb(run, chance, setup);
    if (chance() % 2 == 0) {
      const std::uint64_t again = run.turns() + chance() % 400;
      run.run_until([&] { return run.turns() >= again; });
      disturb(run, chance, setup);
    }
    expect_plain_outcome(run, setup);
    if (HasFatalFailure()) return;
  }
}

/// Where the middle stage of three, or one of its two replicas, is when the epoch comes.
enum class moment : std::uint8_t { forward, backward, sum, finish, voted, applying };

class training_phase : public ::testing::TestWithParam<std::tuple<moment, bool, call_number>> {};
INSTANTIATE_TEST_SUITE_P(all, training_phase,
                         ::testing::Combine(::testing::Values(moment::forward, moment::backward, moment::sum,
                                                              moment::finish, moment::voted, moment::applying),
                                            ::testing::Bool(), ::testing::Values(0, 2)));

TEST_P(training_phase, is_begun_anew_or_carried_out) {
  const moment when = std::get<0>(GetParam());
  const bool dies = std::get<1>(GetParam());
  const call_number call = std::get<2>(GetParam());
  const training_setup setup{.stages = 3, .replicas = 2, .calls = mixed_calls, .seed = 5};
  training_pipeline run(setup);
  auto& middle = run.at({1, 0});
  bool is_there = false;
  // Calls 0 and 2 are the first two steps.
  int ends_to_come = call == 0 ? 1 : 2;
  const auto on_end = [&, step_end = std::string(when == moment::sum      ? "sum"
                                                 : when == moment::finish ? "finish"
                                                                          : "apply")](const char* what) {
    is_there = is_there || (what == step_end && --ends_to_come == 0);
  };
  if (when == moment::forward)
    middle.body->on_forward = [&](micro_batch_id id) { is_there |= id == micro_batch_id{call, 2}; };
  if (when == moment::backward) {
    middle.body->on_backward = [&](micro_batch_id id) { is_there |= id == micro_batch_id{call, 2}; };
  }
  if (when == moment::sum || when == moment::finish || when == moment::applying) middle.body->on_end = on_end;
  const auto has_voted = [&] {
    return std::ranges::any_of(
        run.votes(), [&](const step_vote& each) { return each.address == middle.address && each.call == call; });
  };
  run.run_until([&] { return when == moment::voted ? has_voted() : is_there; });
  ASSERT_TRUE(when == moment::voted ? has_voted() : is_there);
  if (dies) run.kill(middle.address);
  run.start_epoch();
  expect_plain_outcome(run, setup);
}

TEST(training_recovery, an_old_vote_does_not_count_and_a_new_one_has_the_new_epoch) {
  const training_setup setup{.stages = 2, .calls = {{.micro_batches = 2}}};
  training_pipeline run(setup);
  run.run_until([&] { return !run.votes().empty(); });
  run.start_epoch();
  ASSERT_TRUE(run.run());
  const auto votes = run.votes();
  EXPECT_EQ(votes.front().epoch, 1u);
  EXPECT_EQ(std::ranges::count_if(votes, [](const step_vote& each) { return each.epoch == 2; }), 2);
  for (const step_vote& each : votes) EXPECT_EQ(each.call, 0u);
}

}  // namespace
}  // namespace troupe::testing
