// Goal: the exploration would notice a wrong protocol. Method: every rule broken in turn, on a graph where it matters;
// the same graph must be clean with the rule kept. The shortest way to the damage is printed.
#include <iostream>

#include <gtest/gtest.h>

#include "tests/protocol/explorer.hpp"

namespace troupe::testing {
namespace {

struct mutant_case {
  std::string name;
  mutant wrong;
  violation expected;
  protocol_options options;
  std::vector<flow_node> nodes;
};

std::ostream& operator<<(std::ostream& out, const mutant_case& each) {
  return out << each.name;
}

class protocol_mutant : public ::testing::TestWithParam<mutant_case> {};

TEST_P(protocol_mutant, is_found) {
  const mutant_case& each = GetParam();
  const flow_graph graph{each.name, each.nodes};
  ASSERT_TRUE(is_accepted(graph));
  protocol_options options = each.options;
  const verdict right = explore(graph, options);
  EXPECT_TRUE(right.is_clean()) << explain(graph, options, right);
  options.wrong = each.wrong;
  const verdict found = explore(graph, options);
  EXPECT_EQ(found.found, each.expected) << explain(graph, options, found);
  std::cout << explain(graph, options, found) << "\n";
}

const flow_node a_source{};
const flow_node behind_source{.inputs = {0}};

const std::vector<flow_node> unequal_branches = {
    a_source, behind_source, behind_source, {.inputs = {2}}, {.inputs = {1, 3}, .has_sink = true}};
const std::vector<flow_node> two_sinks = {
    a_source, behind_source, {.inputs = {1}, .has_sink = true}, {.inputs = {1}, .has_sink = true}};
const std::vector<flow_node> copies_before_a_join = {
    a_source, {.inputs = {0}, .replicas = 2}, behind_source, {.inputs = {1, 2}, .has_sink = true}};
const std::vector<flow_node> chain = {a_source, behind_source, {.inputs = {1}, .has_sink = true}};

INSTANTIATE_TEST_SUITE_P(
    all, protocol_mutant,
    ::testing::Values(
        mutant_case{"one_pool_for_all_edges_of_a_join",
                    mutant::shared_slots,
                    violation::deadlock,
                    {.credits = 1},
                    unequal_branches},
        mutant_case{"fan_out_sends_again", mutant::fan_out_sends_again, violation::repeated_part, {}, two_sinks},
        mutant_case{"fan_out_sends_again_before_a_join",
                    mutant::fan_out_sends_again,
                    violation::repeated_part,
                    {.credits = 1},
                    unequal_branches},
        mutant_case{"fan_out_forgets", mutant::fan_out_forgets, violation::lost_part, {.credits = 1}, two_sinks},
        mutant_case{"fan_out_forgets_before_a_join",
                    mutant::fan_out_forgets,
                    violation::deadlock,
                    {.credits = 1},
                    unequal_branches},
        mutant_case{"recovery_keeps_parts",
                    mutant::recovery_keeps_parts,
                    violation::deadlock,
                    {.one_dies = true},
                    copies_before_a_join},
        mutant_case{"recovery_keeps_work",
                    mutant::recovery_keeps_work,
                    violation::deadlock,
                    {.one_dies = true},
                    copies_before_a_join},
        mutant_case{
            "join_takes_any_head", mutant::takes_any_head, violation::mismatched_parts, {}, copies_before_a_join},
        mutant_case{"sinks_fold_all", mutant::sinks_fold_all, violation::folded_twice, {.one_dies = true}, chain}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace troupe::testing
