// Goal: edges are as deep as documented, and never shallower than what the consumer's buffers ask for.
// Method: small graphs, expanded; the expected numbers are worked out by hand from limits.hpp.
#include <gmock/gmock.h>

#include "messages/limits.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/wiring/assembly.hpp"
#include "runtime/wiring/make_wiring.hpp"

namespace troupe::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr edge_depths deep{.from_loader = 50, .between_stages = 20};

/// Of all channels, ascending.
std::vector<std::uint32_t> slots_in(const stage_graph& graph, const edge_depths& depths) {
  const auto plan = expand(graph);
  if (!plan) throw std::runtime_error(to_string(plan.error()));
  std::vector<std::uint32_t> slots;
  for (std::size_t channel = 0; channel < plan->channels.size(); ++channel) {
    slots.push_back(shape_of(*plan, channel, depths).slots);
    EXPECT_EQ(slots.back(), slots_of(*plan, plan->channels[channel], depths));
  }
  std::ranges::sort(slots);
  return slots;
}

TEST(edge_depths, of_a_chain) {
  EXPECT_THAT(slots_in(make_chain({.stages = 3}), deep), ElementsAre(20, 20, 50));
  EXPECT_THAT(slots_in(make_chain({.stages = 3}), {}), Each(limits::pipe_buffers_default));
}

TEST(edge_depths, between_stages_are_as_the_user_says) {
  EXPECT_THAT(slots_in(make_chain({.stages = 3, .num_pipe_buffers = 4}), deep), ElementsAre(4, 4, 50));
  EXPECT_THAT(slots_in(make_chain({.stages = 3, .num_pipe_buffers = 64}), deep), Each(64));
}

// The first stage of four keeps three micro-batches and waits for the next one: the loader must have heard by then.
TEST(edge_depths, the_loader_is_woken_while_micro_batches_live_in_the_first_stage) {
  auto plan = expand(make_chain({.stages = 4}));
  ASSERT_TRUE(plan && make_trainable(*plan));
  const std::size_t from_loader = plan->instances[0].inbound.front();
  const edge_options shallow = shape_of(*plan, from_loader, {});
  EXPECT_EQ(shallow.slots, 4u);
  EXPECT_EQ(shallow.credits_per_ring, 1u);
  const edge_options deeper = shape_of(*plan, from_loader, deep);
  EXPECT_EQ(deeper.slots, 50u);
  EXPECT_EQ(deeper.credits_per_ring, 25u);
}

TEST(edge_depths, copies_of_a_pipeline_each_have_their_own_next_stage) {
  EXPECT_THAT(slots_in(make_chain({.stages = 2, .replicas = 2}), deep), ElementsAre(20, 20, 50, 50));
}

TEST(edge_depths, no_deep_queue_in_front_of_a_replica_that_others_could_help) {
  stage_graph graph = make_chain({.stages = 1, .sinks = {}});
  graph_node wide;
  wide.name = "wide";
  wide.replicas = 2;
  graph_node sink;
  sink.name = "metrics";
  sink.kind = node_kind::sink;
  graph.add(wide).add(sink).connect("stage 0", "wide").connect("wide", "metrics");
  EXPECT_THAT(slots_in(graph, deep), ElementsAre(2, 2, 50));
}

TEST(edge_depths, replicas_that_a_join_fixes_have_no_others) {
  stage_graph graph = make_chain({.stages = 1, .sinks = {}});
  graph_node left;
  left.name = "left";
  graph_node join;
  join.name = "join";
  join.kind = node_kind::join;
  join.inputs = {"a", "b"};
  join.replicas = 2;
  graph_node sink;
  sink.name = "metrics";
  sink.kind = node_kind::sink;
  graph.add(left).add(join).add(sink).connect("stage 0", "left").connect("join", "metrics");
  graph.connect_ports({"left", "out"}, {"join", "a"}).connect_ports({"stage 0", "out"}, {"join", "b"});
  EXPECT_THAT(slots_in(graph, deep), ElementsAre(20, 20, 20, 20, 20, 50));
}

struct silent_body final : unary_body {
  [[nodiscard]] expected<payload_ptr> forward(const activation& input) override { return input.tensors; }
};

TEST(edge_depths, of_stages_are_in_the_window_but_not_in_that_of_large_micro_batches) {
  const auto made = assemble(*expand(make_chain({.stages = 3})), std::make_shared<inproc_edge_factory>(),
                             [](stage_address) { return std::make_shared<silent_body>(); }, {.depths = deep});
  ASSERT_TRUE(made) << to_string(made.error());
  EXPECT_EQ(made->window, 50u + 20 + 20 + limits::replay_window_slack);
  EXPECT_EQ(made->window_min, 50u + 2 + 2 + 1);
}

TEST(edge_depths, follow_the_size_of_what_passes) {
  EXPECT_EQ(stage_slots_for(1024), limits::stage_edge_slots);
  EXPECT_EQ(stage_slots_for(limits::stage_edge_bytes / 5), 5u);
  EXPECT_EQ(stage_slots_for(limits::stage_edge_bytes * 3), limits::pipe_buffers_default);
  EXPECT_EQ(stage_slots_for(0), limits::pipe_buffers_default) << "not known";
  EXPECT_EQ(prefetch_slots_for(0), limits::prefetch_slots) << "not known";
  EXPECT_EQ(prefetch_slots_for(limits::prefetch_bytes / 7), 7u);
  EXPECT_EQ(prefetch_slots_for(limits::prefetch_bytes * 2), 1u);
}

}  // namespace
}  // namespace troupe::testing
