// Goal: a mistake that a user makes with a topology is told with its remedy, and ends no process. Method: small graphs
// over a source of known numbers.
#include <gmock/gmock.h>
#include <torch/nn/modules/linear.h>

#include "tests/program/support/numbers.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/topology.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

at::Tensor unchanged(const at::Tensor& x) {
  return x;
}

error refusal_of(const topology& what) {
  const auto result = run(what, {.micro_batch = 3, .threads = 1});
  EXPECT_FALSE(result);
  return result ? error{} : result.error();
}

TEST(stage_recipe, that_meets_another_floating_type_tells_how_to_cast) {
  torch::nn::Linear layer(2, 1);
  const error in_stage = refusal_of(topology{}
                                        .source("numbers", cast_inputs(numbers(10), at::kDouble))
                                        .stage("under test", nn_module(layer))
                                        .sink("sum", {}));
  EXPECT_EQ(in_stage.code, error_code::forward_failed);
  EXPECT_THAT(in_stage.fix, HasSubstr("npy:INPUTS,LABELS,float32, or cast_inputs()"));
  const error in_layer = refusal_of(topology{}
                                        .source("numbers", cast_inputs(numbers(10), at::kDouble))
                                        .pipeline("net", std::vector<layer_spec>{{"Linear", [layer] { return layer; }}})
                                        .sink("sum", {}));
  EXPECT_THAT(in_layer.fix, HasSubstr("cast the inputs to float32")) << to_string(in_layer);
  EXPECT_THAT(in_layer.fix, HasSubstr("cast_inputs()")) << to_string(in_layer);
  const data_set_ptr followed = cast_inputs(cast_inputs(numbers(10), at::kDouble), at::kFloat);
  EXPECT_TRUE(run(topology{}.source("numbers", followed).stage("under test", nn_module(layer)).sink("sum", {}),
                  {.micro_batch = 3, .threads = 1}));
}

TEST(stage_recipe, of_one_object_is_for_one_replica) {
  const auto object = std::make_shared<callable_stage<at::Tensor (*)(const at::Tensor&)>>(unchanged);
  const auto graph = [](const stage_recipe& what, std::uint32_t replicas) {
    return topology{}.source("numbers", numbers(10)).stage("a", what, {.replicas = replicas}).sink("s", {});
  };
  EXPECT_TRUE(graph(object, 1).check());
  for (const topology& each : {graph(object, 3), graph(object, 1).replicate("a", 3)}) {
    const auto checked = each.check();
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, error_code::topology_invalid);
    EXPECT_EQ(checked.error().where, "stage 'a'");
    EXPECT_THAT(checked.error().cause, HasSubstr("one object for 3 replicas"));
  }
  const stage_factory shares = [&](const stage_context&) { return object; };
  EXPECT_TRUE(graph(shares, 3).check()) << "a factory may share an object that takes threads";
}

TEST(a_node_that_moves_rows, takes_no_option_of_a_computation) {
  const route_predicate is_even = [](const named_tensors& x) { return x.only().remainder(2).flatten() == 0; };
  const auto code_of = [&](const stage_options& of_route, const stage_options& of_join) {
    const auto fine = topology{}
                          .source("numbers", numbers(10))
                          .route("split", {{"even", is_even}, {"odd", {}}}, of_route)
                          .join("whole", {"even", "odd"}, of_join)
                          .sink("sum", {})
                          .edge("numbers", "split")
                          .edge("split.even", "whole.even")
                          .edge("split.odd", "whole.odd")
                          .edge("whole", "sum")
                          .check();
    return fine ? std::optional<error_code>{} : std::optional(fine.error().code);
  };
  EXPECT_EQ(code_of({}, {}), std::nullopt);
  EXPECT_EQ(code_of({.threads = 2}, {}), error_code::flags_contradict);
  EXPECT_EQ(code_of({.dtype = at::kHalf}, {}), error_code::flags_contradict);
  EXPECT_EQ(code_of({.outputs = {"other"}}, {}), error_code::flags_contradict);
  EXPECT_EQ(code_of({}, {.threads = 2}), error_code::flags_contradict);
  EXPECT_EQ(code_of({}, {.inputs = {"other"}}), error_code::flags_contradict);
}

TEST(picture, of_what_is_no_graph_throws_what_check_says) {
  const topology circle = topology{}
                              .source("numbers", numbers(10))
                              .stage("a", unchanged)
                              .stage("b", unchanged)
                              .sink("sum", {})
                              .edge("a", "b")
                              .edge("b", "a")
                              .edge("b", "sum");
  EXPECT_THROW(static_cast<void>(circle.picture()), error_exception);
  EXPECT_THROW(static_cast<void>(circle.svg()), error_exception);
}

}  // namespace
}  // namespace troupe::testing
