// Goal: stages that train compute their passes in the order of DeepSpeed's schedule, keep no more micro-batches than it
// does, cannot block each other, and give the numbers of a plain loop. Method: real engines and edges in one thread,
// which make their steps in random orders; train_schedule and plain_training() are independent of them.
#include <random>

#include <gmock/gmock.h>

#include "runtime/schedule/train_schedule.hpp"
#include "tests/support/sanitized.hpp"
#include "training_pipeline.hpp"

namespace troupe::testing {
namespace {

/// "F0 F1 B0 ...": the passes of one stage.
std::string passes_of_schedule(std::uint32_t stages, std::uint64_t micro_batches, stage_index stage) {
  const train_schedule schedule(micro_batches, stages, stage);
  std::uint64_t forwards = 0;
  std::uint64_t backwards = 0;
  std::string text;
  for (const schedule_step& step : schedule) {
    for (const instruction& each : step) {
      if (each.kind == instruction_kind::forward_pass) text += "F" + std::to_string(forwards++) + " ";
      if (each.kind == instruction_kind::backward_pass) text += "B" + std::to_string(backwards++) + " ";
    }
  }
  return text;
}

std::string passes_of_rule(std::uint32_t stages, std::uint64_t micro_batches, stage_index stage) {
  step_progress progress(live_micro_batches_max(stages, stage));
  std::string text;
  for (;;) {
    switch (progress.next()) {
      case step_action::forward:
        if (progress.forwards() == micro_batches) {
          progress.end();
          continue;
        }
        text += "F" + std::to_string(progress.forwards()) + " ";
        progress.forward_begun();
        break;
      case step_action::backward:
        text += "B" + std::to_string(progress.backwards()) + " ";
        progress.backward_begun();
        break;
      case step_action::complete:
        return text;
    }
  }
}

std::string passes_of_trace(const trace_recorder& trace) {
  std::string text;
  for (const trace_event& each : trace.events()) {
    if (each.what == instruction_kind::forward_pass) text += "F" + std::to_string(each.id.index) + " ";
    if (each.what == instruction_kind::backward_pass) text += "B" + std::to_string(each.id.index) + " ";
  }
  return text;
}

constexpr std::uint32_t stages_checked = 16;
constexpr std::uint64_t micro_batches_checked = 32;

TEST(step_progress, has_the_order_of_the_schedule) {
  for (std::uint32_t stages = 1; stages <= stages_checked; ++stages) {
    for (std::uint64_t count = 1; count <= micro_batches_checked; ++count) {
      for (stage_index stage = 0; stage < stages; ++stage) {
        ASSERT_EQ(passes_of_rule(stages, count, stage), passes_of_schedule(stages, count, stage))
            << "stage " << stage << " of " << stages << ", " << count << " micro-batches";
      }
    }
  }
}

TEST(step_progress, of_more_stages_than_an_edge_has_slots_the_first_ones_wait) {
  EXPECT_EQ(live_micro_batches_max(limits::stages_max, 0), limits::pipe_buffers_max);
  EXPECT_EQ(live_micro_batches_max(limits::stages_max, limits::stages_max - 1), 1u);
}

TEST(training_order, engines_have_it_in_every_interleaving_and_keep_no_more_than_it_needs) {
  const std::uint32_t step = sanitized ? 5 : 1;
  for (std::uint32_t stages = 1; stages <= stages_checked; stages += step) {
    for (std::uint64_t count = 1; count <= micro_batches_checked; count += step) {
      training_pipeline run(
          {.stages = stages, .calls = {{.micro_batches = count}}, .seed = 100 * count + stages, .is_traced = true});
      ASSERT_TRUE(run.run()) << stages << " stages and " << count << " micro-batches block each other";
      for (const auto& each : run.nodes()) {
        const stage_index stage = each.address.stage;
        ASSERT_EQ(passes_of_trace(*each.engine->trace()), passes_of_schedule(stages, count, stage));
        ASSERT_EQ(each.body->most_kept, std::min<std::uint64_t>(count, stages - stage));
      }
    }
  }
}

TEST(training_order, random_runs_do_not_block_and_give_the_numbers_of_a_plain_loop) {
  const std::uint64_t seeds = sanitized ? 40 : 400;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    std::mt19937_64 chance(seed);
    training_setup setup{
        .stages = static_cast<std::uint32_t>(1 + chance() % 6), .replicas = 1u << chance() % 3, .seed = seed};
    setup.gradient_slots = static_cast<std::uint32_t>(1 + chance() % 2);
    for (std::uint64_t calls = 1 + chance() % 5; calls > 0; --calls) {
      planned_call& call = setup.calls.emplace_back();
      call.trains = chance() % 3 != 0;
      call.micro_batches = chance() % 13;
      call.is_skipped = chance() % 5 == 0;
      for (std::uint64_t index = 0; index < call.micro_batches; ++index) {
        if (chance() % 4 == 0) call.empty.push_back(index);
      }
    }
    training_pipeline run(setup);
    ASSERT_TRUE(run.run()) << "seed " << seed;
    ASSERT_EQ(run.outcome(), plain_training(setup.stages, setup.replicas, setup.calls)) << "seed " << seed;
    ASSERT_TRUE(run.failures.empty()) << "seed " << seed << ": " << to_string(run.failures.front().cause);
    ASSERT_TRUE(run.has_all_slots_back()) << "seed " << seed;
    ASSERT_TRUE(run.stop()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace troupe::testing
