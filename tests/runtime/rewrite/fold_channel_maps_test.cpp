// Goal: normalisations and constants are folded under the conditions of fold_channel_maps.hpp alone. Method: graphs in
// which one condition is broken, against LibTorch's interpreter on the plain graph.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "tests/runtime/rewrite/graph_builder.hpp"

namespace troupe::testing {
namespace {

using torch::jit::Value;
using sizes = std::vector<std::int64_t>;

/// Sizes of 4 everywhere, so that a map over the wrong axis would fit.
constexpr std::int64_t four = 4;

struct folding : ::testing::Test {
  folding() {
    at::set_num_threads(1);
    at::manual_seed(7);
  }

  Value* image() { return builder.input(inputs.emplace_back(at::randn({2, four, four, four}))); }
  Value* convolution() { return add_convolution(builder, image(), four, four); }
  Value* linear(Value* x) {
    return builder.add("aten::linear",
                       {x, builder.constant(at::randn({four, four})), builder.constant(at::randn({four}))});
  }
  Value* constant(const sizes& shape) { return builder.constant(at::rand(shape) + 0.5); }
  rewritten finish(Value* output) {
    builder.output(output);
    rewritten made = rewrite(builder.graph(), rewrite_target::device);
    EXPECT_EQ(difference(builder.graph(), made, inputs), "");
    return made;
  }

  graph_builder builder;
  std::vector<at::Tensor> inputs;
};

TEST_F(folding, a_normalisation_behind_a_convolution_becomes_part_of_its_weights) {
  const rewritten made = finish(add_batch_norm(builder, convolution(), four));
  EXPECT_EQ(made.report.folded_normalisations, 1u);
  EXPECT_EQ(made.count("aten::batch_norm"), 0u);
}

TEST_F(folding, of_a_transposed_convolution_with_groups_the_channels_are_in_two_dimensions) {
  Value* const x = builder.input(inputs.emplace_back(at::randn({2, 6, 5, 5})));
  Value* const weight = builder.constant(at::randn({6, 2, 3, 3}));
  Value* const two = builder.constant(sizes{2, 2});
  Value* const y =
      builder.add("aten::conv_transpose2d", {x, weight, builder.constant(at::randn({6})), two,
                                             builder.constant(sizes{1, 1}), builder.constant(sizes{0, 0}), 3});
  EXPECT_EQ(finish(add_batch_norm(builder, y, 6)).report.folded_normalisations, 1u);
}

TEST_F(folding, convolutions_of_one_and_three_dimensions_have_their_channels_at_the_same_place) {
  for (const std::int64_t d : {1, 3}) {
    graph_builder one;
    sizes shape(static_cast<std::size_t>(d) + 2, four);
    const at::Tensor sample = at::randn(shape);
    Value* const y = one.add("aten::conv" + std::to_string(d) + "d",
                             {one.input(sample), one.constant(at::randn(sizes(shape.size(), 4)).narrow(2, 0, 2))});
    one.output(add_batch_norm(one, y, four));
    const rewritten made = rewrite(one.graph(), rewrite_target::device);
    EXPECT_EQ(made.report.folded_normalisations, 1u) << d;
    EXPECT_EQ(difference(one.graph(), made, {sample}), "") << d;
  }
}

TEST_F(folding, an_output_with_a_second_reader_stays) {
  Value* const y = convolution();
  const rewritten made = finish(builder.add("aten::add", {add_batch_norm(builder, y, four), y}));
  EXPECT_EQ(made.report.folded_normalisations, 0u);
}

TEST_F(folding, an_output_that_leaves_the_graph_stays) {
  Value* const y = convolution();
  builder.output(y);
  EXPECT_EQ(finish(add_batch_norm(builder, y, four)).report.folded_normalisations, 0u);
}

TEST_F(folding, a_normalisation_that_takes_its_statistics_from_the_batch_stays) {
  Value* const y = convolution();
  Value* const normalised = builder.add(
      "aten::batch_norm", {y, builder.constant(at::rand({four})), builder.constant(at::randn({four})),
                           builder.constant(c10::IValue()), builder.constant(c10::IValue()), true, 0.1, 1e-5, true});
  EXPECT_EQ(finish(normalised).report.folded_normalisations, 0u);
}

TEST_F(folding, statistics_that_are_no_constants_stay) {
  Value* const y = convolution();
  Value* const mean = builder.input(inputs.emplace_back(at::randn({four})));
  Value* const normalised =
      builder.add("aten::batch_norm", {y, builder.constant(at::rand({four})), builder.constant(at::randn({four})), mean,
                                       builder.constant(at::rand({four}) + 0.5), false, 0.1, 1e-5, true});
  EXPECT_EQ(finish(normalised).report.folded_normalisations, 0u);
}

TEST_F(folding, weights_that_are_no_constants_stay) {
  Value* const x = image();
  Value* const weight = builder.input(inputs.emplace_back(at::randn({four, four, 1, 1})));
  EXPECT_EQ(
      finish(add_batch_norm(builder, builder.add("aten::conv2d", {x, weight}), four)).report.folded_normalisations, 0u);
}

TEST_F(folding, a_linear_layer_of_two_dimensions_has_its_channels_in_dimension_1) {
  Value* const rows = builder.add("aten::flatten", {builder.input(inputs.emplace_back(at::randn({3, 2, 2}))), 1, -1});
  EXPECT_EQ(finish(add_batch_norm(builder, linear(rows), four)).report.folded_normalisations, 1u);
}

TEST_F(folding, a_linear_layer_of_three_dimensions_has_not) {
  Value* const rows = builder.input(inputs.emplace_back(at::randn({2, four, four})));
  EXPECT_EQ(finish(add_batch_norm(builder, linear(rows), four)).report.folded_normalisations, 0u);
}

TEST_F(folding, behind_a_convolution_without_batches_a_normalisation_is_refused_not_computed_over_channels) {
  Value* const y = convolution();
  builder.output(add_batch_norm(builder, y, four));
  const rewritten made = rewrite(builder.graph(), rewrite_target::device);
  EXPECT_ANY_THROW(outputs_of(made.graph, {at::randn({four, four, four})}));
}

TEST_F(folding, constants_per_channel_become_part_of_the_weights) {
  Value* y = builder.add("aten::mul", {convolution(), constant({four, 1, 1})});
  y = builder.add("aten::add", {constant({four, 1, 1}), y});
  y = builder.add("aten::sub", {y, 0.25});
  y = builder.add("aten::div", {y, constant({1, 1, 1})});
  EXPECT_EQ(finish(y).report.folded_constants_per_channel, 4u);
}

TEST_F(folding, constants_per_column_or_row_or_of_more_dimensions_stay) {
  for (const sizes& shape :
       {sizes{four}, sizes{four, 1}, sizes{four, four, 1}, sizes{1, four, 1, 1}, sizes{1, 1, four, 1, 1}}) {
    graph_builder one;
    const at::Tensor sample = at::randn({2, four, four, four});
    Value* const y = add_convolution(one, one.input(sample), four, four);
    one.output(one.add("aten::mul", {y, one.constant(at::rand(shape) + 0.5)}));
    const rewritten made = rewrite(one.graph(), rewrite_target::device);
    EXPECT_EQ(made.report.folded_constants_per_channel, 0u) << at::IntArrayRef(shape);
    EXPECT_EQ(difference(one.graph(), made, {sample}), "");
    // Without batches, [1, C, 1, 1] adds a dimension.
    EXPECT_EQ(difference(one.graph(), made, {sample[0]}), "");
  }
}

TEST_F(folding, a_constant_of_four_dimensions_counts_where_a_normalisation_has_asked_for_batches) {
  Value* const y = add_batch_norm(builder, convolution(), four);
  const rewritten made = finish(builder.add("aten::mul", {y, constant({1, four, 1, 1})}));
  EXPECT_EQ(made.report.folded_constants_per_channel, 1u);
}

TEST_F(folding, a_constant_that_repeats_one_channel_stays) {
  Value* const y = add_convolution(builder, image(), four, 1);
  EXPECT_EQ(finish(builder.add("aten::mul", {y, constant({four, 1, 1})})).report.folded_constants_per_channel, 0u);
}

TEST_F(folding, a_constant_of_another_type_stays) {
  Value* const wide = builder.constant(at::rand({four, 1, 1}, at::kDouble));
  EXPECT_EQ(finish(builder.add("aten::mul", {convolution(), wide})).report.folded_constants_per_channel, 0u);
}

TEST_F(folding, a_sum_with_a_factor_stays) {
  const rewritten made = finish(builder.add("aten::add", {convolution(), constant({four, 1, 1})}, {{"alpha", 2}}));
  EXPECT_EQ(made.report.folded_constants_per_channel, 0u);
}

TEST_F(folding, a_quotient_and_a_difference_the_other_way_round_stay) {
  Value* const y = builder.add("aten::sub", {constant({four, 1, 1}), convolution()});
  EXPECT_EQ(finish(y).report.folded_constants_per_channel, 0u);
}

TEST_F(folding, behind_a_linear_layer_a_constant_is_one_number_per_column) {
  Value* const rows = builder.input(inputs.emplace_back(at::randn({2, four, four})));
  Value* const y = builder.add("aten::mul", {linear(rows), constant({four})});
  EXPECT_EQ(finish(builder.add("aten::add", {y, constant({four, 1})})).report.folded_constants_per_channel, 1u);
}

TEST_F(folding, weights_that_would_overflow_stay) {
  graph_builder large;
  const at::Tensor sample = at::randn({2, four, four, four}) * 1e-6;
  const at::Tensor weight = at::randn({four, four, 1, 1}) * 1e3;
  Value* const z = large.add("aten::conv2d", {large.input(sample), large.constant(weight)});
  large.output(large.add("aten::mul", {z, large.constant(at::full({four, 1, 1}, 3e37))}));
  const rewritten kept = rewrite(large.graph(), rewrite_target::device);
  EXPECT_EQ(kept.report.folded_constants_per_channel, 0u);
  EXPECT_EQ(difference(large.graph(), kept, {sample}), "");
}

TEST_F(folding, an_input_that_is_written_before_the_normalisation_keeps_its_place) {
  Value* const x = builder.add("aten::mul", {image(), 2.0});
  Value* const y = add_convolution(builder, x, four, four);
  Value* const view = builder.add("aten::view", {x, builder.constant(sizes{2, -1})});
  Value* const written = builder.add("aten::mul_", {view, 3.0});
  builder.output(written);
  EXPECT_EQ(finish(add_batch_norm(builder, y, four)).report.folded_normalisations, 0u);
}

TEST_F(folding, float16_is_left_alone) {
  Value* const x = builder.input(inputs.emplace_back(at::randn({2, four, four, four}).to(at::kHalf)));
  Value* const y = builder.add("aten::conv2d", {x, builder.constant(at::randn({four, four, 1, 1}).to(at::kHalf))});
  const auto half = [&] { return builder.constant((at::rand({four}) + 0.5).to(at::kHalf)); };
  Value* const normalised =
      builder.add("aten::batch_norm", {y, half(), half(), half(), half(), false, 0.1, 1e-5, true});
  EXPECT_EQ(finish(normalised).report.folded_normalisations, 0u);
}

TEST_F(folding, a_folded_weight_keeps_the_module_of_the_convolution) {
  Value* const y = convolution();
  y->node()->setScope(y->node()->scope()->push(c10::Symbol::scope("conv Conv2d")));
  Value* const normalised = add_batch_norm(builder, y, four);
  normalised->node()->setScope(normalised->node()->scope()->push(c10::Symbol::scope("norm BatchNorm2d")));
  const rewritten made = finish(normalised);
  for (const torch::jit::Node* node : made.graph->nodes()) {
    if (node->kind() == c10::aten::conv2d) EXPECT_EQ(node->scopeName(), "conv Conv2d");
  }
}

}  // namespace
}  // namespace troupe::testing
