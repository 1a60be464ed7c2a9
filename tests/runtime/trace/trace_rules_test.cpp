// Goal: every rule is checked and named. Method: one hand-made trace per rule, which must be refused by exactly that
// rule.
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/trace_checker.hpp"

namespace troupe {
namespace {

using enum instruction_kind;
using ::testing::HasSubstr;
using events = std::vector<trace_event>;

struct rule_case {
  trace_rule rule;
  const char* where;
  std::vector<std::tuple<stage_address, instruction_kind, micro_batch_id, std::uint32_t>> events;
};

TEST(rules, each_is_named_by_its_own_violation) {
  constexpr stage_address s0{0, 0}, s1{1, 0}, other{1, 1};
  constexpr micro_batch_id m0{0, 0}, m1{0, 1}, m2{0, 2};
  const rule_case table[] = {
      {trace_rule::place_exists, "stage 2, replica 0", {{{2, 0}, forward_pass, m0, 0}}},
      {trace_rule::belongs_to_schedule, "stage 1, replica 0", {{s1, load_micro_batch, m0, 0}}},
      {trace_rule::belongs_to_schedule, "stage 0, replica 0", {{s0, recv_activation, m0, 0}}},
      {trace_rule::belongs_to_schedule, "stage 1, replica 0", {{s1, send_activation, m0, 0}}},
      {trace_rule::belongs_to_schedule, "stage 0, replica 0", {{s0, send_grad, m0, 0}}},
      {trace_rule::micro_batch_exists, "call 0, micro-batch 3", {{s0, load_micro_batch, {0, 3}, 0}}},
      {trace_rule::micro_batch_exists, "call 1, micro-batch 0", {{s0, load_micro_batch, {1, 0}, 0}}},
      {trace_rule::in_id_order,
       "stage 0, replica 0, call 0, micro-batch 0",
       {{s0, load_micro_batch, m1, 0}, {s0, forward_pass, m1, 0}, {s0, load_micro_batch, m0, 1}}},
      {trace_rule::one_replica,
       "stage 1, replica 1",
       {{s0, load_micro_batch, m0, 0},
        {s0, forward_pass, m0, 0},
        {s0, send_activation, m0, 0},
        {other, recv_activation, m0, 0}}},
      {trace_rule::receive_after_send,
       "stage 1, replica 0",
       {{s0, load_micro_batch, m0, 0}, {s0, forward_pass, m0, 0}, {s1, recv_activation, m0, 0}}},
      {trace_rule::take_after_forward, "micro-batch 1", {{s0, load_micro_batch, m0, 0}, {s0, load_micro_batch, m1, 1}}},
      {trace_rule::forward_after_take, "stage 0", {{s0, forward_pass, m0, 0}}},
      {trace_rule::forward_after_send,
       "micro-batch 1",
       {{s0, load_micro_batch, m0, 0},
        {s0, forward_pass, m0, 0},
        {s0, load_micro_batch, m1, 1},
        {s0, forward_pass, m1, 1}}},
      {trace_rule::send_after_forward, "stage 0", {{s0, load_micro_batch, m0, 0}, {s0, send_activation, m0, 0}}},
      {trace_rule::buffers_in_turn, "stage 0", {{s0, load_micro_batch, m0, 1}}},
      {trace_rule::buffers_in_turn, "stage 0", {{s0, load_micro_batch, m0, 0}, {s0, forward_pass, m0, 1}}},
      {trace_rule::complete, "stage 0, replica 0, call 0, micro-batch 0", {{s0, load_micro_batch, m0, 0}}},
      {trace_rule::complete,
       "stage 1, replica 0, call 0, micro-batch 2",
       {{s0, load_micro_batch, m2, 0}, {s0, forward_pass, m2, 0}, {s0, send_activation, m2, 0}}},
      {trace_rule::complete, "trace, call 0, micro-batch 0", {}},
  };
  const traced_run run{.stages = 2, .replicas = 2, .num_pipe_buffers = {2}, .micro_batches = {3}};
  for (const rule_case& c : table) {
    events all;
    for (const auto& [where, what, id, buffer] : c.events) all.push_back({all.size(), where, what, id, buffer});
    const auto result = check_trace(run, all);
    ASSERT_FALSE(result.has_value()) << trace_rule_name(c.rule);
    EXPECT_THAT(result.error().cause, HasSubstr(std::string("rule '") + std::string(trace_rule_name(c.rule)) + "'"));
    EXPECT_THAT(result.error().where, HasSubstr(c.where));
  }
}

TEST(rules, a_buffer_is_not_reused_before_its_micro_batch_is_sent) {
  const traced_run run{.stages = 2, .replicas = 1, .num_pipe_buffers = {1}, .micro_batches = {2}};
  const events all{{0, {0, 0}, load_micro_batch, {0, 0}, 0},
                   {1, {0, 0}, forward_pass, {0, 0}, 0},
                   {2, {0, 0}, load_micro_batch, {0, 1}, 0}};
  EXPECT_THAT(check_trace(run, all).error().cause, HasSubstr("'buffer is free'"));
}

}  // namespace
}  // namespace troupe
