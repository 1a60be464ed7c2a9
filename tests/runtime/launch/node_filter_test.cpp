// Goal: a filter leaves the nodes and slots that DeepSpeed's launcher would, and every fault in one is reported with
// its place. Method: a table over one set of nodes, with expected slots and characters counted by hand.
#include "runtime/launch/node_filter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include <troupe/limits.hpp>

namespace troupe {
namespace {

using ::testing::HasSubstr;
using selection = std::vector<node_slots>;

const std::vector<launch_node>& four_nodes() {
  static const std::vector<launch_node> nodes{{"w0", 4}, {"w1", 4}, {"w2", 2}, {"::1", 1}};
  return nodes;
}

node_filter including(std::string text) {
  return {std::move(text), std::nullopt, std::nullopt, std::nullopt};
}
node_filter excluding(std::string text) {
  return {std::nullopt, std::move(text), std::nullopt, std::nullopt};
}
node_filter the_first(std::optional<std::uint64_t> nodes, std::optional<std::uint64_t> slots) {
  return {std::nullopt, std::nullopt, nodes, slots};
}

struct good_filter {
  node_filter filter;
  selection left;
};

TEST(node_filter, leaves_the_named_nodes_and_slots) {
  const node_slots w0{"w0", {0, 1, 2, 3}};
  const node_slots w1{"w1", {0, 1, 2, 3}};
  const node_slots w2{"w2", {0, 1}};
  const node_slots v6{"::1", {0}};
  const good_filter table[] = {
      {{}, {w0, w1, w2, v6}},
      // of DeepSpeed's own description: all of the first node, and two slots of the second
      {including("w0@w1:0,2"), {w0, {"w1", {0, 2}}}},
      {excluding("w1:0"), {w0, {"w1", {1, 2, 3}}, w2, v6}},
      // the order is that of the nodes, and that of the slots
      {including("w2@w0"), {w0, w2}},
      {including("w1:3,0"), {{"w1", {0, 3}}}},
      {including("w1:1-3"), {{"w1", {1, 2, 3}}}},
      {including("w1:0,2-3@w2:1-1"), {{"w1", {0, 2, 3}}, {"w2", {1}}}},
      {including("[::1]"), {v6}},
      {including("w0:00003@[0:0::1]:0"), {{"w0", {3}}, v6}},
      {excluding("w0@w1"), {w2, v6}},
      {excluding("w2:0,1"), {w0, w1, v6}},
      {excluding("w2:0-1@[::1]:0@w0:0,2"), {{"w0", {1, 3}}, w1}},
      {the_first(2, std::nullopt), {w0, w1}},
      {the_first(4, std::nullopt), {w0, w1, w2, v6}},
      {the_first(std::nullopt, 1), {{"w0", {0}}, {"w1", {0}}, {"w2", {0}}, v6}},
      {the_first(3, 2), {{"w0", {0, 1}}, {"w1", {0, 1}}, w2}},
  };
  for (const good_filter& good : table) {
    const std::string text = good.filter.include.value_or(good.filter.exclude.value_or("first"));
    const auto left = select_nodes(four_nodes(), good.filter);
    ASSERT_TRUE(left) << text << '\n' << to_string(left.error());
    EXPECT_EQ(*left, good.left) << text;
  }
}

struct bad_filter {
  std::string text;
  error_code code;
  const char* place;
  const char* words;
};

constexpr auto outside = error_code::value_out_of_range;
constexpr auto unknown = error_code::unknown_name;

class bad_filters : public ::testing::TestWithParam<const char*> {};

TEST_P(bad_filters, are_refused_with_place_and_cause) {
  const std::string flag = GetParam();
  const bad_filter table[] = {
      {"", outside, "1", "a node's name is missing"},
      {"@w0", outside, "1", "a node's name is missing"},
      {"w0@", outside, "4", "a node's name is missing"},
      {"w0@@w1", outside, "4", "a node's name is missing"},
      {"w9", unknown, "1", "no node 'w9'"},
      {"w0@w1:0@W2", unknown, "9", "no node 'W2'"},
      {"w0@w0", outside, "4", "'w0' is named twice"},
      {"w0:0@w1@w0:1", outside, "9", "'w0' is named twice"},
      {"w0:", outside, "4", "a slot is missing"},
      {":0", outside, "1", "a node's name is missing"},
      {"w0:,1", outside, "4", "a slot is missing"},
      {"w0:0,", outside, "6", "a slot is missing"},
      {"w0:0,,1", outside, "6", "a slot is missing"},
      {"w0:4", outside, "4", "has 4 slots, and no slot 4"},
      {"w0@w2:0,2", outside, "9", "node w2 has 2 slots, and no slot 2"},
      {"w0:18446744073709551616", outside, "4", "no slot 18446744073709551616"},
      {"w0:0,0", outside, "6", "slot 0 is named twice"},
      {"w0:0-2,1-3", outside, "8", "slot 1 is named twice"},
      {"w0:3-1", outside, "4", "the range 3-1 runs backwards"},
      {"w0:0-4", outside, "6", "no slot 4"},
      {"w0:1-", outside, "6", "a slot is missing"},
      {"w0:-1", outside, "4", "a slot is missing"},
      {"w0:0-1-2", outside, "6", "'1-2' is no slot"},
      {"w0:x", outside, "4", "'x' is no slot"},
      {"w0:0 ,1", outside, "4", "'0 ' is no slot"},
      {"w0 @w1", outside, "3", "has no ' '"},
      {"w0,w1", outside, "3", "has no ','"},
      {"w0:0:1", outside, "5", "a second ':'"},
      {"w0@::1", outside, "5", "a second ':'"},
      {"[::1", outside, "5", "']' is missing"},
      {"w0@[::1]x", outside, "9", "'x' stands behind ']'"},
      {"[::2]", unknown, "1", "no node '::2'"},
      {"w\x01", outside, "2", "has no '\\x01'"},
  };
  for (const bad_filter& bad : table) {
    const auto left = select_nodes(four_nodes(), flag == "--include" ? including(bad.text) : excluding(bad.text));
    ASSERT_FALSE(left) << bad.text;
    EXPECT_EQ(left.error().code, bad.code) << bad.text;
    EXPECT_EQ(left.error().where, flag + ", character " + bad.place) << bad.text;
    EXPECT_THAT(left.error().cause, HasSubstr(bad.words)) << bad.text;
    EXPECT_NE(left.error().fix, "");
  }
}

INSTANTIATE_TEST_SUITE_P(both, bad_filters, ::testing::Values("--include", "--exclude"));

std::string refusal(const node_filter& filter) {
  const auto left = select_nodes(four_nodes(), filter);
  return left ? "none" : code_name(left.error().code) + " " + left.error().where;
}

TEST(node_filter, that_contradicts_is_refused) {
  EXPECT_EQ(refusal({"w0", "w1", std::nullopt, std::nullopt}), "E0104 --include");
  EXPECT_EQ(refusal({"w0", std::nullopt, 1, std::nullopt}), "E0104 --num-nodes");
  EXPECT_EQ(refusal({std::nullopt, "w0", 1, std::nullopt}), "E0104 --num-nodes");
  EXPECT_EQ(refusal({"w0", std::nullopt, std::nullopt, 1}), "E0104 --num-slots");
  EXPECT_EQ(refusal({std::nullopt, "w0", std::nullopt, 1}), "E0104 --num-slots");
}

TEST(node_filter, with_numbers_outside_is_refused) {
  EXPECT_EQ(refusal(the_first(0, std::nullopt)), "E0103 --num-nodes");
  EXPECT_EQ(refusal(the_first(5, std::nullopt)), "E0103 --num-nodes");
  EXPECT_EQ(refusal(the_first(std::nullopt, 0)), "E0103 --num-slots");
  EXPECT_EQ(refusal(the_first(std::nullopt, 2)), "E0103 --num-slots");
  EXPECT_EQ(refusal(the_first(3, 3)), "E0103 --num-slots");
  EXPECT_THAT(select_nodes(four_nodes(), the_first(3, 3)).error().cause, HasSubstr("node w2 has 2"));
}

TEST(node_filter, that_leaves_nothing_is_refused) {
  const auto left = select_nodes(four_nodes(), excluding("w0@w1:0-3@w2@[::1]"));
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error().code, outside);
  EXPECT_EQ(left.error().where, "--exclude");
  EXPECT_THAT(left.error().cause, HasSubstr("no slot is left"));
  EXPECT_EQ(select_nodes({}, {}).error().code, outside);
}

TEST(node_filter, leaves_at_most_as_many_slots_as_ranks) {
  std::vector<launch_node> nodes;
  for (std::uint64_t i = 0; i < limits::ranks_max / limits::node_slots_max; ++i)
    nodes.push_back({"w" + std::to_string(i), limits::node_slots_max});
  EXPECT_TRUE(select_nodes(nodes, {}));
  nodes.push_back({"last", 1});
  const auto left = select_nodes(nodes, {});
  ASSERT_FALSE(left);
  EXPECT_THAT(left.error().cause, HasSubstr("262145 slots, a launch has at most 262144"));
  EXPECT_TRUE(select_nodes(nodes, excluding("w0:7")));
}

TEST(node_filter, names_the_known_nodes) {
  const auto left = select_nodes(four_nodes(), including("worker"));
  ASSERT_FALSE(left);
  EXPECT_EQ(left.error().fix, "use one of: w0, w1, w2, ::1");
}

}  // namespace
}  // namespace troupe
