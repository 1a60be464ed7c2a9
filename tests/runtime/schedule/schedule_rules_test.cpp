// Goal: every schedule up to 32 x 32 obeys the rules. Method: place each micro-batch's instructions by closed formulas,
// from the micro-batch's point of view (the code under test goes from step to micro-batch), and compare cell by cell.
#include <algorithm>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/schedule/pipe_schedule.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe {
namespace {

using enum instruction_kind;

constexpr std::uint32_t count_max = testing::sanitized ? 16 : 32;

/// step -> the kinds in it, each with its micro-batch.
using cells = std::map<std::uint64_t, std::map<instruction_kind, std::uint64_t>>;

cells inference_cells(std::uint64_t micro_batches, std::uint32_t stages, std::uint32_t s) {
  cells all;
  for (std::uint64_t m = 0; m < micro_batches; ++m) {
    const bool first = s == 0;
    const bool last = s + 1 == stages;
    all[m + s][forward_pass] = m;
    if (first || last) all[m + s][load_micro_batch] = m;
    if (!first) all[m + s][recv_activation] = m;
    if (!last) all[m + s + 1][send_activation] = m;
  }
  return all;
}

cells train_cells(std::uint64_t micro_batches, std::uint32_t stages, std::uint32_t s) {
  cells all;
  for (std::uint64_t m = 0; m < micro_batches; ++m) {
    const bool first = s == 0;
    const bool last = s + 1 == stages;
    const std::uint64_t forward = 2 * m + s;
    const std::uint64_t backward = 2 * m + 2 * stages - s - 1;
    all[forward][forward_pass] = m;
    all[backward][backward_pass] = m;
    if (first || last) all[forward][load_micro_batch] = m;
    if (!first) all[forward][recv_activation] = m;
    if (!last) all[forward + 1][send_activation] = m;
    if (!last) all[backward][recv_grad] = m;
    if (!first) all[backward + 1][send_grad] = m;
  }
  return all;
}

/// Positions inside a step, lowest first.
using rank_of = std::map<instruction_kind, int>;

rank_of inference_ranks(std::uint32_t s) {
  const int send = s % 2 == 0 ? 1 : 2;
  return {{load_micro_batch, 0}, {send_activation, send}, {recv_activation, 3 - send}, {forward_pass, 3}};
}

rank_of train_ranks() {
  return {{send_grad, 0},        {recv_grad, 0},    {recv_activation, 1}, {send_activation, 1},
          {load_micro_batch, 2}, {forward_pass, 3}, {backward_pass, 3}};
}

schedule_step expected_step(const cells& all, std::uint64_t t, rank_of ranks, std::uint32_t buffers) {
  const auto found = all.find(t);
  if (found == all.end()) return {};
  schedule_step step;
  for (const auto& [kind, m] : found->second) {
    step.push_back({kind, static_cast<std::uint32_t>(m % buffers)});
  }
  std::sort(step.begin(), step.end(), [&](auto a, auto b) { return ranks.at(a.kind) < ranks.at(b.kind); });
  return step;
}

TEST(schedule_rules, inference_cell_by_cell) {
  for (std::uint64_t m = 1; m <= count_max; ++m) {
    for (std::uint32_t stages = 1; stages <= count_max; ++stages) {
      for (std::uint32_t s = 0; s < stages; ++s) {
        const auto schedule = *make_schedule({schedule_kind::inference, m, stages}, s);
        const cells all = inference_cells(m, stages, s);
        ASSERT_EQ(schedule->num_steps(), m + stages - 1);
        ASSERT_EQ(schedule->num_pipe_buffers(), 2u);
        for (std::uint64_t t = 0; t < schedule->num_steps(); ++t) {
          ASSERT_EQ(schedule->step(t), expected_step(all, t, inference_ranks(s), 2))
              << m << ' ' << stages << ' ' << s << ' ' << t;
        }
        ASSERT_TRUE(all.rbegin()->first < schedule->num_steps());
      }
    }
  }
}

TEST(schedule_rules, train_cell_by_cell) {
  for (std::uint64_t m = 1; m <= count_max; ++m) {
    for (std::uint32_t stages = 1; stages <= count_max; ++stages) {
      for (std::uint32_t s = 0; s < stages; ++s) {
        const auto schedule = *make_schedule({schedule_kind::train, m, stages}, s);
        const cells all = train_cells(m, stages, s);
        const std::uint64_t last = 2 * (m + stages - 1) - 1;
        const std::uint32_t buffers =
            static_cast<std::uint32_t>(std::max<std::uint64_t>(2, std::min<std::uint64_t>(stages - s, m)));
        ASSERT_EQ(schedule->num_steps(), last + 1);
        ASSERT_EQ(schedule->num_pipe_buffers(), buffers);
        for (std::uint64_t t = 0; t <= last; ++t) {
          schedule_step expected = expected_step(all, t, train_ranks(), buffers);
          if (t == last) {
            expected.insert(expected.end(), {{reduce_tied_grads}, {reduce_grads}, {optimizer_step}});
          }
          ASSERT_EQ(schedule->step(t), expected) << m << ' ' << stages << ' ' << s << ' ' << t;
        }
        ASSERT_LE(all.rbegin()->first, last);
      }
    }
  }
}

TEST(schedule_rules, data_parallel_cell_by_cell) {
  const schedule_step work{{load_micro_batch, 0}, {forward_pass, 0}, {backward_pass, 0}};
  schedule_step end = work;
  end.insert(end.end(), {{reduce_grads}, {optimizer_step}});
  for (std::uint64_t m = 1; m <= count_max; ++m) {
    for (std::uint32_t stages = 1; stages <= count_max; ++stages) {
      const auto schedule = *make_schedule({schedule_kind::data_parallel, m, stages}, stages - 1);
      ASSERT_EQ(schedule->num_steps(), m);
      for (std::uint64_t t = 0; t < m; ++t) {
        ASSERT_EQ(schedule->step(t), t + 1 == m ? end : work);
      }
    }
  }
}

}  // namespace
}  // namespace troupe
