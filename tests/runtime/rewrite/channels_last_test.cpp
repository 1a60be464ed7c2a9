// Goal: convolutions are packed, and additions made in place, under the conditions of channels_last.hpp alone. Method:
// graphs in which one condition is broken, against LibTorch's interpreter on the plain graph.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "tests/runtime/rewrite/graph_builder.hpp"

namespace troupe::testing {
namespace {

using torch::jit::Value;
using sizes = std::vector<std::int64_t>;

struct runs : ::testing::Test {
  runs() {
    at::set_num_threads(1);
    at::manual_seed(11);
  }

  Value* image() { return builder.input(sample); }
  Value* convolution(Value* x, std::int64_t kernel = 3) { return add_convolution(builder, x, 8, 8, kernel); }
  Value* relu(Value* x) { return builder.add("aten::relu", {x}); }
  Value* sum(Value* one, Value* other) { return builder.add("aten::add", {one, other}); }
  /// Compared for contiguous, channels-last and strided inputs of several batches, and for one without batches.
  rewritten finish(const std::vector<Value*>& outputs, bool with_one_image = true) {
    for (Value* each : outputs) builder.output(each);
    rewritten made = rewrite(builder.graph());
    for (const std::int64_t batch : {1, 2, 5}) {
      const at::Tensor x = at::randn({batch, 8, 6, 6});
      EXPECT_EQ(difference(builder.graph(), made, {x}), "");
      EXPECT_EQ(difference(builder.graph(), made, {x.contiguous(at::MemoryFormat::ChannelsLast)}), "");
      EXPECT_EQ(difference(builder.graph(), made, {at::randn({batch, 8, 6, 12}).slice(3, 0, 12, 2)}), "");
    }
    EXPECT_EQ(difference(builder.graph(), made, {at::randn({0, 8, 6, 6})}), "");
    if (with_one_image) EXPECT_EQ(difference(builder.graph(), made, {at::randn({8, 6, 6})}), "");
    return made;
  }

  graph_builder builder;
  at::Tensor sample = at::randn({2, 8, 6, 6});
};

TEST_F(runs, a_residual_block_is_two_operators_and_writes_over_its_skip) {
  Value* const skip = relu(convolution(image()));
  Value* const inner = relu(convolution(skip));
  const rewritten made = finish({relu(sum(convolution(inner), skip))});
  EXPECT_EQ(made.report.packed_convolutions, 3u);
  EXPECT_EQ(made.report.additions_in_place, 1u);
  EXPECT_EQ(made.report.joined_relus, 3u);
  EXPECT_EQ(made.count("troupe::convolution"), 2u);
  EXPECT_EQ(made.count("troupe::convolution_add_"), 1u);
  EXPECT_EQ(made.count("aten::relu"), 0u);
}

TEST_F(runs, an_addition_in_place_does_the_same) {
  Value* const skip = builder.add("aten::relu_", {convolution(image())});
  Value* const inner = builder.add("aten::relu_", {convolution(skip)});
  Value* const y = builder.add("aten::relu_", {builder.add("aten::add_", {convolution(inner), skip})});
  const rewritten made = finish({y});
  EXPECT_EQ(made.report.operators_not_in_place, 4u);
  EXPECT_EQ(made.report.additions_in_place, 1u);
}

TEST_F(runs, one_convolution_alone_stays) {
  EXPECT_EQ(finish({convolution(image())}).report.packed_convolutions, 0u);
}

TEST_F(runs, a_skip_that_is_an_input_is_not_written) {
  Value* const x = image();
  EXPECT_EQ(finish({relu(sum(convolution(relu(convolution(x))), x))}).report.additions_in_place, 0u);
}

TEST_F(runs, a_skip_that_is_read_later_is_not_written) {
  Value* const skip = relu(convolution(image()));
  Value* const y = relu(sum(convolution(relu(convolution(skip))), skip));
  EXPECT_EQ(finish({sum(convolution(y), skip)}).report.additions_in_place, 1u);  // the second one alone
}

TEST_F(runs, a_skip_that_leaves_the_graph_is_not_written) {
  Value* const skip = relu(convolution(image()));
  const rewritten made = finish({relu(sum(convolution(relu(convolution(skip))), skip)), skip});
  EXPECT_EQ(made.report.additions_in_place, 0u);
}

TEST_F(runs, a_skip_with_a_view_that_is_read_later_is_not_written) {
  Value* const skip = relu(convolution(image()));
  Value* const view = builder.add("aten::slice", {skip, -3, 0, 4});
  Value* const y = relu(sum(convolution(relu(convolution(skip))), skip));
  EXPECT_EQ(finish({y, view}).report.additions_in_place, 0u);
}

TEST_F(runs, a_skip_that_the_convolution_reads_is_not_written) {
  Value* const skip = relu(convolution(image()));
  EXPECT_EQ(finish({sum(convolution(skip), skip)}).report.additions_in_place, 0u);
}

TEST_F(runs, a_skip_from_outside_of_the_run_is_not_written) {
  Value* const x = image();
  Value* const other = builder.add("aten::mul", {x, 2.0});
  EXPECT_EQ(finish({sum(convolution(relu(convolution(x))), other)}).report.additions_in_place, 0u);
}

TEST_F(runs, a_skip_that_broadcasts_is_added_with_its_sizes) {
  Value* const first = relu(convolution(image()));
  Value* const pooled = builder.add("aten::adaptive_avg_pool2d", {first, builder.constant(sizes{1, 1})});
  const rewritten made = finish({relu(sum(convolution(convolution(first)), pooled))});
  EXPECT_EQ(made.count("troupe::convolution_add_"), 1u);  // which sees the sizes
}

TEST_F(runs, a_sum_with_a_factor_stays) {
  Value* const skip = relu(convolution(image()));
  Value* const y = builder.add("aten::add", {convolution(relu(convolution(skip))), skip}, {{"alpha", 2}});
  EXPECT_EQ(finish({y}).report.additions_in_place, 0u);
}

TEST_F(runs, a_convolution_with_a_second_reader_keeps_its_own_output) {
  Value* const y = convolution(convolution(image()));
  const rewritten made = finish({relu(y), builder.add("aten::sigmoid", {y})});
  EXPECT_EQ(made.report.packed_convolutions, 2u);
  EXPECT_EQ(made.report.joined_relus, 0u);
}

TEST_F(runs, views_see_the_plain_order) {
  Value* const y = relu(convolution(relu(convolution(image()))));
  Value* const rows = builder.add("aten::flatten", {y, -2, -1});
  Value* const turned = builder.add("aten::transpose", {rows, -2, -1});
  EXPECT_EQ(finish({turned}).count("troupe::plain_order"), 1u);
}

TEST_F(runs, a_mean_and_a_flattening_to_rows_need_no_plain_order) {
  Value* const y = relu(convolution(relu(convolution(image()))));
  Value* const mean = builder.add("aten::mean", {y, builder.constant(sizes{-2, -1}), false});
  const rewritten made = finish({builder.add("aten::flatten", {y, 1, -1}), mean});
  EXPECT_EQ(made.count("troupe::plain_order"), 0u);
}

TEST_F(runs, poolings_products_concatenations_and_padded_slices_stay_in_order) {
  Value* x = relu(convolution(image()));
  x = builder.add("aten::max_pool2d", {x, builder.constant(sizes{2, 2})});
  Value* const gate = builder.add(
      "aten::sigmoid", {convolution(builder.add("aten::adaptive_avg_pool2d", {x, builder.constant(sizes{1, 1})}), 1)});
  x = builder.add("aten::mul", {x, gate});
  Value* const sliced = builder.add("aten::slice", {x, -1, 0, 3, 2});
  Value* const padded = builder.add("aten::pad", {sliced, builder.constant(sizes{0, 1})});
  const rewritten made = finish(
      {builder.add("aten::mean", {builder.add_list("aten::cat", {x, x}, -3), builder.constant(sizes{-2, -1}), false}),
       builder.add("aten::mean", {convolution(padded), builder.constant(sizes{-2, -1}), false})});
  EXPECT_EQ(made.report.packed_convolutions, 3u);
  EXPECT_EQ(made.count("troupe::plain_order"), 0u);
}

TEST_F(runs, weights_in_channels_last_order_stay) {
  const auto last = [&](Value* x) {
    return builder.add("aten::conv2d",
                       {x, builder.constant(at::randn({8, 8, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast))});
  };
  EXPECT_EQ(finish({last(last(image()))}).report.packed_convolutions, 0u);
}

TEST_F(runs, a_value_that_is_written_through_a_view_stays) {
  Value* const y = convolution(convolution(image()));
  Value* const view = builder.add("aten::slice", {y, -1, 0, 3});
  Value* const written = builder.add("aten::mul_", {view, 3.0});
  EXPECT_EQ(finish({written, relu(y)}).report.packed_convolutions, 0u);
}

TEST_F(runs, the_input_of_a_convolution_is_read_before_it_is_written) {
  Value* const x = builder.add("aten::mul", {image(), 2.0});
  Value* const y = convolution(convolution(x, 1));
  Value* const z = convolution(x, 1);
  Value* const written = builder.add("aten::mul_", {builder.add("aten::slice", {x, -1, 0, 3}), 3.0});
  const rewritten made = finish({relu(z), y, written});
  EXPECT_EQ(made.report.joined_relus, 0u);
}

TEST_F(runs, float64_stays) {
  sample = sample.to(at::kDouble);
  const auto wide = [&](Value* x) {
    return builder.add("aten::conv2d", {x, builder.constant(at::randn({8, 8, 3, 3}, at::kDouble))});
  };
  builder.output(wide(wide(image())));
  EXPECT_EQ(rewrite(builder.graph()).report.packed_convolutions, 0u);
}

TEST_F(runs, an_input_of_another_type_is_refused_as_in_the_plain_graph) {
  builder.output(convolution(convolution(image())));
  const rewritten made = rewrite(builder.graph());
  EXPECT_ANY_THROW(outputs_of(builder.graph(), {sample.to(at::kDouble)}));
  EXPECT_ANY_THROW(outputs_of(made.graph, {sample.to(at::kDouble)}));
  EXPECT_ANY_THROW(outputs_of(made.graph, {at::randn({2, 7, 6, 6})}));
  EXPECT_ANY_THROW(outputs_of(made.graph, {at::randn({6, 6})}));
}

}  // namespace
}  // namespace troupe::testing
