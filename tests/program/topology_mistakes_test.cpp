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
  EXPECT_THAT(in_layer.fix, HasSubstr("cast_inputs()")) << to_string(in_layer);
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
