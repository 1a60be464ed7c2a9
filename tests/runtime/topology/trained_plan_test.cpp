// Goal: a plan of training has the channels of gradients and sums, and the slots that 1F1B needs; what cannot be
// trained is refused. Method: lists written by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/topology/wiring_plan.hpp"

namespace troupe {
namespace {

std::string instance_name(const wiring_plan& plan, std::size_t instance) {
  const stage_address at = plan.instances[instance].address;
  return fmt::format("{}/{}", plan.nodes[at.stage].name, at.replica);
}

std::vector<std::string> all_channels(const wiring_plan& plan) {
  std::vector<std::string> all;
  for (const wired_channel& each : plan.channels) {
    const char* kinds[] = {"", " gradients", " sums"};
    all.push_back(fmt::format("{} -> {} x{}{}", instance_name(plan, each.producer), instance_name(plan, each.consumer),
                              each.slots, kinds[static_cast<int>(each.kind)]));
  }
  return all;
}

wiring_plan chain(std::uint32_t stages, std::uint32_t replicas = 1) {
  return *expand(make_chain({.stages = stages, .replicas = replicas}));
}

TEST(trained_plan, three_stages) {
  wiring_plan plan = chain(3);
  ASSERT_TRUE(make_trainable(plan));
  EXPECT_THAT(
      all_channels(plan),
      ::testing::ElementsAre("stage 0/0 -> stage 1/0 x2", "stage 1/0 -> stage 2/0 x1", "loader/0 -> stage 0/0 x3",
                             "stage 1/0 -> stage 0/0 x2 gradients", "stage 2/0 -> stage 1/0 x2 gradients"));
  EXPECT_EQ(plan.instances[0].gradients_in, 3u);
  EXPECT_EQ(plan.instances[0].gradients_out, std::nullopt);
  EXPECT_EQ(plan.instances[1].gradients_in, 4u);
  EXPECT_EQ(plan.instances[1].gradients_out, 3u);
  EXPECT_EQ(plan.instances[2].gradients_in, std::nullopt);
  EXPECT_EQ(plan.instances[2].gradients_out, 4u);
  EXPECT_TRUE(plan.trains);
}

TEST(trained_plan, replicas_exchange_sums) {
  wiring_plan plan = chain(1, 4);
  ASSERT_TRUE(make_trainable(plan));
  EXPECT_TRUE(plan.nodes[0].fixed_replica);
  for (replica_index replica = 0; replica < 4; ++replica) {
    const wired_instance& one = plan.instances[replica];
    std::vector<std::string> others;
    for (const std::size_t number : one.sums_in) {
      EXPECT_EQ(plan.channels[number].consumer, replica);
      others.push_back(instance_name(plan, plan.channels[number].producer));
    }
    std::vector<std::string> expected;
    for (replica_index other = 0; other < 4; ++other) {
      if (other != replica) expected.push_back(fmt::format("stage 0/{}", other));
    }
    EXPECT_EQ(others, expected);
    ASSERT_EQ(one.sums_out.size(), 3u);
    for (std::size_t peer = 0; peer < 3; ++peer) {
      EXPECT_EQ(plan.channels[one.sums_out[peer]].consumer, plan.channels[one.sums_in[peer]].producer);
    }
  }
}

TEST(trained_plan, stages_with_tied_weights_exchange_sums) {
  wiring_plan plan = chain(3, 2);
  ASSERT_TRUE(make_trainable(plan));
  const std::size_t before = plan.channels.size();
  const std::vector<tied_stages> ties = {{0, 2}, {1, 2}};
  ASSERT_TRUE(add_ties(plan, ties));
  EXPECT_EQ(plan.channels.size(), before + 2 * 2 * 2 * 2);
  const wired_instance& one = plan.instances[plan.instance_at({2, 1})];
  std::vector<std::string> others;
  for (const std::size_t number : one.sums_in) others.push_back(instance_name(plan, plan.channels[number].producer));
  EXPECT_EQ(others, (std::vector<std::string>{"stage 2/0", "stage 0/0", "stage 0/1", "stage 1/0", "stage 1/1"}));
  for (std::size_t peer = 0; peer < one.sums_in.size(); ++peer) {
    EXPECT_EQ(plan.channels[one.sums_out[peer]].consumer, plan.channels[one.sums_in[peer]].producer);
  }
  EXPECT_EQ(plan.instances[plan.instance_at({1, 0})].sums_in.size(), 3u);
}

TEST(trained_plan, ties_that_no_plan_has) {
  wiring_plan plan = chain(3, 1);
  const auto code_of = [&](const std::vector<tied_stages>& ties) {
    const auto made = add_ties(plan, ties);
    return made ? std::nullopt : std::optional(made.error().code);
  };
  EXPECT_EQ(code_of({{0, 1}}), error_code::wire_malformed) << "it does not train";
  ASSERT_TRUE(make_trainable(plan));
  for (const auto& ties : std::vector<std::vector<tied_stages>>{
           {{0, 3}}, {{1, 1}}, {{1, 0}}, {{0, 1}, {0, 1}}, {{1, 2}, {0, 2}}, {{4000000000, 4000000001}}}) {
    EXPECT_EQ(code_of(ties), error_code::wire_malformed);
  }
  EXPECT_EQ(code_of({}), std::nullopt);
}

std::string refusal(wiring_plan plan) {
  const auto made = make_trainable(plan);
  return made ? "" : to_string(made.error());
}

TEST(trained_plan, what_cannot_be_trained) {
  EXPECT_THAT(refusal(chain(2, 3)), ::testing::HasSubstr("3 is no power of two"));
  wiring_plan joined = chain(2);
  joined.nodes[1].kind = node_kind::join;
  EXPECT_THAT(refusal(joined), ::testing::HasSubstr("a join or route"));
  stage_graph uneven;
  uneven.add({.name = "loader", .kind = node_kind::source})
      .add({.name = "a", .replicas = 2})
      .add({.name = "b"})
      .add({.name = "metrics", .kind = node_kind::sink})
      .connect("loader", "a")
      .connect("a", "b")
      .connect("b", "metrics");
  EXPECT_THAT(refusal(*expand(uneven)), ::testing::HasSubstr("node b: it has other replicas"));
  stage_graph forked;
  forked.add({.name = "loader", .kind = node_kind::source})
      .add({.name = "a"})
      .add({.name = "b"})
      .add({.name = "c"})
      .add({.name = "metrics", .kind = node_kind::sink})
      .add({.name = "more", .kind = node_kind::sink})
      .connect("loader", "a")
      .connect("a", "b")
      .connect("a", "c")
      .connect("b", "metrics")
      .connect("c", "more");
  EXPECT_THAT(refusal(*expand(forked)), ::testing::HasSubstr("node a: it has not one stage"));
}

}  // namespace
}  // namespace troupe
