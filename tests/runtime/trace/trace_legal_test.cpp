// Goal: legal executions pass. Method: traces of a random simulator over thousands of seeds, of InferenceSchedule
// itself executed step by step, and of real threads that draw as trace_recorder asks.
#include <map>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/schedule/pipe_schedule.hpp"
#include "trace_simulator.hpp"

namespace troupe {
namespace {

using testing::random_run;
using testing::trace_simulator;

std::string text_of(const expected<void>& result) {
  return result ? "legal" : to_string(result.error());
}

TEST(legal_traces, of_the_simulator_pass) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    std::mt19937_64 random(seed);
    const traced_run run = random_run(random);
    ASSERT_EQ(text_of(check_trace(run, trace_simulator(run, seed).run())), "legal") << "seed " << seed;
  }
}

TEST(legal_traces, a_number_drawn_before_the_credit_is_seen_gives_false_alarms) {
  std::size_t alarms = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const traced_run run{.stages = 3, .replicas = 1, .num_pipe_buffers = {1}, .micro_batches = {20}};
    const auto result = check_trace(run, trace_simulator(run, seed).run(true));
    alarms += result ? 0 : 1;
    if (!result) {
      EXPECT_THAT(result.error().cause, ::testing::HasSubstr("live within pipe buffers"));
    }
  }
  EXPECT_GT(alarms, 0u);
}

/// All stages execute InferenceSchedule with a barrier between steps; inside a step every stage goes as far as it can,
/// a receive waiting for its send. The last stage's loads are left out.
std::vector<trace_event> execute_schedule(std::uint64_t micro_batches, std::uint32_t stages) {
  const auto schedules = *make_all_schedules({schedule_kind::inference, micro_batches, stages});
  std::vector<std::map<instruction_kind, std::uint64_t>> done(stages);
  std::vector<trace_event> events;
  for (std::uint64_t t = 0; t < schedules.front()->num_steps(); ++t) {
    std::vector<schedule_step> todo;
    for (const auto& schedule : schedules) todo.push_back(schedule->step(t));
    std::vector<std::size_t> next(stages, 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t s = 0; s < stages; ++s) {
        if (next[s] == todo[s].size()) continue;
        const instruction i = todo[s][next[s]];
        if (i.kind == instruction_kind::recv_activation &&
            done[s][i.kind] == done[s - 1][instruction_kind::send_activation]) {
          continue;
        }
        const micro_batch_id id{0, done[s][i.kind]++};
        const bool labels = i.kind == instruction_kind::load_micro_batch && s > 0;
        if (!labels) events.push_back({events.size(), {s, 0}, i.kind, id, i.buffer});
        ++next[s];
        moved = true;
      }
    }
  }
  return events;
}

TEST(legal_traces, of_the_schedule_itself_pass) {
  for (std::uint64_t m = 1; m <= 12; ++m) {
    for (std::uint32_t stages = 1; stages <= 12; ++stages) {
      const auto events = execute_schedule(m, stages);
      const traced_run run{.stages = stages, .replicas = 1, .num_pipe_buffers = {2}, .micro_batches = {m}};
      ASSERT_EQ(text_of(check_trace(run, events)), "legal") << m << " x " << stages;
    }
  }
}

TEST(legal_traces, have_the_instructions_that_the_schedule_gives_each_micro_batch) {
  using executed = std::multiset<std::tuple<stage_index, instruction_kind, std::uint64_t>>;
  for (std::uint32_t stages = 1; stages <= 6; ++stages) {
    const traced_run run{.stages = stages, .replicas = 1, .num_pipe_buffers = {2}, .micro_batches = {7}};
    executed simulated, scheduled;
    for (const trace_event& e : trace_simulator(run, stages).run())
      simulated.emplace(e.where.stage, e.what, e.id.index);
    for (const trace_event& e : execute_schedule(7, stages)) scheduled.emplace(e.where.stage, e.what, e.id.index);
    EXPECT_EQ(simulated, scheduled);
  }
}

/// A bounded queue of counters: what an edge is, as far as a trace can tell.
struct counting_edge {
  std::atomic<std::uint64_t> sent{0};
  std::atomic<std::uint64_t> released{0};
};

TEST(legal_traces, of_real_threads_pass) {
  constexpr std::uint32_t stages = 3;
  constexpr std::uint32_t slots = 2;
  constexpr std::uint64_t count = 3000;
  trace_clock clock;
  std::vector<counting_edge> edges(stages);  // edges[s] leads into stage s; edges[0] is not used
  std::vector<trace_recorder> recorders;
  for (stage_index s = 0; s < stages; ++s) recorders.emplace_back(clock, stage_address{s, 0});
  const auto stage_loop = [&](stage_index s) {
    trace_recorder& recorder = recorders[s];
    for (std::uint64_t m = 0; m < count; ++m) {
      const std::uint32_t buffer = static_cast<std::uint32_t>(m % slots);
      while (s > 0 && edges[s].sent.load(std::memory_order_acquire) == m) std::this_thread::yield();
      recorder.record(s == 0 ? instruction_kind::load_micro_batch : instruction_kind::recv_activation, {0, m}, buffer);
      recorder.record(instruction_kind::forward_pass, {0, m}, buffer);
      if (s + 1 < stages) {
        while (m - edges[s + 1].released.load(std::memory_order_acquire) >= slots) std::this_thread::yield();
        const std::uint64_t order = recorder.draw();
        edges[s + 1].sent.store(m + 1, std::memory_order_release);
        recorder.record_at(order, instruction_kind::send_activation, {0, m}, buffer);
      }
      edges[s].released.store(m + 1, std::memory_order_release);
    }
  };
  std::vector<std::thread> threads;
  for (stage_index s = 0; s < stages; ++s) threads.emplace_back(stage_loop, s);
  for (std::thread& t : threads) t.join();
  std::vector<const trace_recorder*> all;
  for (const trace_recorder& r : recorders) all.push_back(&r);
  const traced_run run{.stages = stages, .replicas = 1, .num_pipe_buffers = {slots}, .micro_batches = {count}};
  EXPECT_EQ(text_of(check_trace(run, *gather_trace(all))), "legal");
}

TEST(recorder, is_bounded_and_says_so) {
  trace_clock clock;
  trace_recorder recorder(clock, {1, 2}, 2);
  for (std::uint64_t i = 0; i < 5; ++i) recorder.record(instruction_kind::forward_pass, {0, i}, 0);
  EXPECT_EQ(recorder.events().size(), 2u);
  EXPECT_EQ(recorder.dropped(), 3u);
  const std::vector<const trace_recorder*> all{&recorder};
  EXPECT_EQ(gather_trace(all).error().code, error_code::queue_full);
  EXPECT_THAT(gather_trace(all).error().where, ::testing::HasSubstr("stage 1, replica 2"));
}

TEST(trace_json, one_object_per_line) {
  const std::vector<trace_event> events{{17, {1, 0}, instruction_kind::forward_pass, {2, 3}, 1},
                                        {18, {1, 0}, instruction_kind::send_activation, {2, 3}, 1}};
  EXPECT_EQ(
      trace_json_lines(events),
      "{\"order\":17,\"stage\":1,\"replica\":0,\"op\":\"ForwardPass\",\"call\":2,\"micro_batch\":3,\"buffer\":1}\n"
      "{\"order\":18,\"stage\":1,\"replica\":0,\"op\":\"SendActivation\",\"call\":2,\"micro_batch\":3,\"buffer\":1}\n");
}

}  // namespace
}  // namespace troupe
