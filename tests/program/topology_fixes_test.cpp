// Goal: the fix of each mistake in a topology works when it is followed to the letter. Method: small graphs, each with
// the mistake and as the fix says; what the graph computes does not matter.
#include <functional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/program/support/numbers.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/topology.hpp>

namespace troupe::testing {
namespace {

at::Tensor as_it_is(const at::Tensor& x) {
  return x;
}

struct mistake {
  const char* name;
  error_code code;
  /// Stands in the fix.
  const char* fix;
  std::function<topology()> wrong;
  std::function<topology()> followed;
};

topology one_object(stage_recipe what) {
  return topology{}.source("numbers", numbers(10)).stage("a", std::move(what), {.replicas = 3}).sink("s", {});
}

topology two_stages() {
  return topology{}.source("numbers", numbers(10)).stage("a", as_it_is).stage("b", as_it_is).sink("s", {});
}

topology in_a_row() {
  return two_stages().edge("numbers", "a").edge("a", "b").edge("b", "s");
}

/// Both branches hold the same samples.
topology two_branches(const stage_options& of_second) {
  return topology{}
      .source("numbers", numbers(10))
      .stage("first", as_it_is, {.replicas = 3})
      .stage("second", as_it_is, of_second)
      .stage("sum", [](const named_tensors& in) { return in.at("a").add(in.at("b")); }, {.inputs = {"a", "b"}})
      .sink("s", {})
      .edge("numbers", "first")
      .edge("numbers", "sum.a")
      .edge("first", "second")
      .edge("second", "sum.b")
      .edge("sum", "s");
}

topology routed(const route_predicate& of_last) {
  const route_predicate is_even = [](const named_tensors& x) { return x.only().select(1, 0).remainder(2) == 0; };
  return topology{}
      .source("numbers", numbers(10))
      .route("split", {{"even", is_even}, {"odd", of_last}})
      .join("whole", {"even", "odd"})
      .sink("s", {})
      .edge("numbers", "split")
      .edge("split.even", "whole.even")
      .edge("split.odd", "whole.odd")
      .edge("whole", "s");
}

const std::vector<mistake> mistakes = {
    {"cycle", error_code::topology_cycle, "remove one of these edges and the input that it feeds",
     [] {
       return topology{}
           .source("numbers", numbers(10))
           .stage("a", [](const named_tensors& in) { return in.at("in"); }, {.inputs = {"in", "back"}})
           .stage("b", as_it_is)
           .sink("s", {})
           .edge("numbers", "a")
           .edge("a", "b")
           .edge("b", "a.back")
           .edge("b", "s");
     },
     in_a_row},
    {"port_left_open", error_code::topology_dangling_port, "connect the port, or remove the node",
     [] { return in_a_row().stage("idle", as_it_is).edge("b", "idle"); },
     [] { return in_a_row().stage("idle", as_it_is).sink("more", {}).edge("b", "idle").edge("idle", "more"); }},
    {"no_such_port", error_code::topology_dangling_port, "correct the name of the port",
     [] { return two_stages().edge("numbers", "a").edge("a.output", "b").edge("b", "s"); },
     [] { return two_stages().edge("numbers", "a").edge("a.out", "b").edge("b", "s"); }},
    {"name_twice", error_code::topology_duplicate_name, "give every node a name of its own",
     [] { return topology{}.source("numbers", numbers(10)).stage("a", as_it_is).stage("a", as_it_is).sink("s", {}); },
     two_stages},
    {"one_object", error_code::topology_invalid, "give a factory",
     [] { return one_object(std::make_shared<callable_stage<at::Tensor (*)(const at::Tensor&)>>(as_it_is)); },
     [] {
       return one_object(stage_factory([](const stage_context&) {
         return std::make_shared<callable_stage<at::Tensor (*)(const at::Tensor&)>>(as_it_is);
       }));
     }},
    {"starves", error_code::topology_join_starves, "mark 'second' as ordered", [] { return two_branches({}); },
     [] { return two_branches({.ordered = true}); }},
    {"no_last_case", error_code::topology_route_incomplete, "end its cases with one that has no predicate",
     [] { return routed([](const named_tensors& x) { return x.only().select(1, 0).remainder(2) == 1; }); },
     [] { return routed(nullptr); }},
};

class mistake_row : public ::testing::TestWithParam<mistake> {};

TEST_P(mistake_row, is_mended_by_its_fix) {
  const mistake& row = GetParam();
  const auto refused = row.wrong().check();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, row.code) << to_string(refused.error());
  EXPECT_THAT(refused.error().fix, ::testing::HasSubstr(row.fix));
  const auto ran = run(row.followed(), {.micro_batch = 3, .threads = 1});
  EXPECT_TRUE(ran) << to_string(ran.error());
}

INSTANTIATE_TEST_SUITE_P(all, mistake_row, ::testing::ValuesIn(mistakes),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace troupe::testing
