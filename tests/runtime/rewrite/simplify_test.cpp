// Goal: operators go, stay or become others under the conditions of simplify.hpp, constant_folding.hpp and
// linear_form.hpp. Method: small graphs, against LibTorch's interpreter on the plain graph.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "tests/runtime/rewrite/graph_builder.hpp"

namespace troupe::testing {
namespace {

using torch::jit::Value;
using sizes = std::vector<std::int64_t>;

struct rewriting : ::testing::Test {
  rewriting() {
    at::set_num_threads(1);
    at::manual_seed(5);
  }

  Value* rows() { return builder.input(sample); }
  rewritten finish(const std::vector<Value*>& outputs) {
    for (Value* each : outputs) builder.output(each);
    rewritten made = rewrite(builder.graph());
    EXPECT_EQ(difference(builder.graph(), made, {sample}), "");
    return made;
  }
  Value* matrix(const sizes& shape) { return builder.constant(at::randn(shape)); }

  graph_builder builder;
  at::Tensor sample = at::randn({5, 4});
};

TEST_F(rewriting, operators_that_give_their_input_go) {
  Value* x = builder.add("aten::dropout", {rows(), 0.5, false});
  x = builder.add("aten::alias", {builder.add("aten::detach", {x})});
  x = builder.add("aten::contiguous", {builder.add("aten::linear", {x, matrix({4, 4})})});
  const rewritten made = finish({x});
  EXPECT_EQ(made.report.removed_operators, 4u);
}

TEST_F(rewriting, dropout_in_training_stays) {
  builder.output(builder.add("aten::dropout", {rows(), 0.5, true}));
  EXPECT_EQ(rewrite(builder.graph()).count("aten::dropout"), 1u);
}

TEST_F(rewriting, another_name_of_a_tensor_that_changes_its_form_stays) {
  Value* const x = builder.add("aten::relu", {rows()});
  Value* const name = builder.add("aten::detach", {x});
  Value* const turned = builder.add("aten::t_", {x});
  EXPECT_EQ(finish({name, turned}).count("aten::detach"), 1u);
}

TEST_F(rewriting, a_check_of_sizes_goes_and_a_check_of_numbers_stays) {
  for (const bool is_about_sizes : {true, false}) {
    auto graph = std::make_shared<torch::jit::Graph>();
    Value* const x = graph->addInput();
    Value* const found =
        is_about_sizes ? graph->insert(c10::Symbol::fromQualString("aten::dim"), {x})
                       : graph->insert(c10::Symbol::fromQualString("aten::Int"), {graph->insert(c10::aten::sum, {x})});
    Value* const is_wrong = graph->insert(c10::aten::ne, {found, 2});
    torch::jit::Node* check = graph->insertNode(graph->create(c10::prim::If, {is_wrong}, 0));
    torch::jit::Block* raising = check->addBlock();
    check->addBlock();
    Value* const text = graph->insertConstant("wrong");
    text->node()->moveBefore(check);
    Value* const none = graph->insertConstant(c10::IValue());
    none->node()->moveBefore(check);
    raising->appendNode(graph->create(c10::prim::RaiseException, {text, none}, 0));
    graph->registerOutput(x);
    EXPECT_EQ(rewrite(graph).count("prim::If"), is_about_sizes ? 0u : 1u);
  }
}

TEST_F(rewriting, what_others_can_see_is_written_as_before) {
  Value* const x = builder.add("aten::mul", {rows(), 2.0});
  Value* const view = builder.add("aten::view", {x, builder.constant(sizes{-1})});
  const rewritten made = finish({builder.add("aten::relu_", {x}), view});
  EXPECT_EQ(made.report.operators_not_in_place, 0u);
}

TEST_F(rewriting, what_a_dropout_has_passed_on_is_written_as_before) {
  Value* const x = builder.add("aten::mul", {rows(), 2.0});
  Value* const same = builder.add("aten::dropout", {x, 0.5, false});
  const rewritten made = finish({builder.add("aten::relu_", {same}), builder.add("aten::tanh", {x})});
  EXPECT_EQ(made.report.operators_not_in_place, 0u);
}

TEST_F(rewriting, an_input_is_written_as_before) {
  const rewritten made = finish({builder.add("aten::relu_", {rows()})});
  EXPECT_EQ(made.report.operators_not_in_place, 0u);
}

TEST_F(rewriting, a_sum_in_place_keeps_the_type_of_its_first_operand) {
  Value* const x = builder.add("aten::linear", {rows(), matrix({4, 4})});
  const rewritten made = finish({builder.add("aten::add_", {x, builder.constant(at::randn({4}, at::kDouble))})});
  EXPECT_EQ(made.report.operators_not_in_place, 0u);
}

TEST_F(rewriting, operators_on_constants_become_their_result) {
  Value* const weight = builder.add("aten::t", {builder.add("aten::mul", {matrix({4, 6}), 2.0})});
  const rewritten made = finish({builder.add("aten::linear", {rows(), weight})});
  EXPECT_EQ(made.report.folded_constants, 2u);
  EXPECT_EQ(made.report.packed_linears, 1u);
}

TEST_F(rewriting, constants_that_would_be_large_are_not_computed) {
  Value* const x = rows();
  // Four terabytes, which a file names in a few bytes.
  auto& graph = *builder.graph();
  Value* const large =
      graph.insert(c10::Symbol::fromQualString("aten::zeros"), {builder.constant(sizes{1 << 20, 1 << 20})});
  Value* const wide =
      graph.insert(c10::Symbol::fromQualString("aten::expand"), {matrix({1, 4}), builder.constant(sizes{1 << 20, 4})});
  Value* const copied = graph.insert(c10::Symbol::fromQualString("aten::contiguous"), {wide});
  builder.output(x);
  builder.output(large);
  builder.output(copied);
  EXPECT_EQ(rewrite(builder.graph()).count("aten::zeros"), 1u);
  EXPECT_EQ(rewrite(builder.graph()).count("aten::contiguous"), 1u);
}

TEST_F(rewriting, lists_of_any_length_are_not_computed) {
  Value* const x = rows();
  Value* const list = builder.constant(sizes{1, 2, 3});
  auto& graph = *builder.graph();
  Value* const repeated = graph.insert(c10::Symbol::fromQualString("aten::mul"), {list, std::int64_t{1} << 40});
  builder.output(x);
  builder.output(graph.insert(c10::Symbol::fromQualString("aten::len"), {repeated}));
  EXPECT_EQ(rewrite(builder.graph()).report.folded_constants, 0u);
}

TEST_F(rewriting, constants_that_are_written_are_made_anew_in_each_run) {
  Value* const zeros = builder.add("aten::zeros", {builder.constant(sizes{4})});
  Value* const x = rows();
  Value* const counted = builder.add("aten::add_", {zeros, builder.constant(at::ones({4}))});
  const rewritten made = finish({builder.add("aten::add", {x, counted})});
  EXPECT_EQ(made.count("aten::zeros"), 1u);
  EXPECT_EQ(difference(builder.graph(), made, {sample}), "");
}

TEST_F(rewriting, random_numbers_are_drawn_in_each_run) {
  builder.output(builder.add("aten::rand", {builder.constant(sizes{4})}));
  builder.output(rows());
  EXPECT_EQ(rewrite(builder.graph()).count("aten::rand"), 1u);
}

TEST_F(rewriting, a_graph_that_writes_its_constants_stays) {
  Value* const count = builder.constant(at::zeros({4}));
  Value* const y = builder.add("aten::linear", {rows(), matrix({4, 4})});
  builder.output(builder.add("aten::add", {y, builder.add("aten::add_", {count, 1.0})}));
  EXPECT_EQ(rewrite(builder.graph()).report.packed_linears, 0u);
}

TEST_F(rewriting, an_operator_that_fails_does_so_at_run_time) {
  Value* const x = rows();
  auto& graph = *builder.graph();
  builder.output(x);
  builder.output(graph.insert(c10::Symbol::fromQualString("aten::mm"), {matrix({2, 3}), matrix({2, 3})}));
  EXPECT_ANY_THROW(outputs_of(rewrite(builder.graph()).graph, {sample}));
}

TEST_F(rewriting, products_with_a_constant_matrix_are_packed_with_their_relu) {
  Value* x = builder.add("aten::addmm", {matrix({6}), rows(), matrix({4, 6})});
  x = builder.add("aten::relu", {builder.add("aten::matmul", {x, matrix({6, 3})})});
  x = builder.add("aten::add", {builder.add("aten::mm", {x, matrix({3, 2})}), matrix({2})});
  const rewritten made = finish({x});
  EXPECT_EQ(made.report.packed_linears, 3u);
  EXPECT_EQ(made.report.joined_relus, 1u);
  EXPECT_EQ(made.report.folded_constants_per_channel, 1u);
  EXPECT_EQ(made.count("troupe::linear"), 3u);
}

TEST_F(rewriting, products_with_factors_other_biases_or_no_matrix_stay) {
  Value* const x = rows();
  Value* const scaled = builder.add("aten::addmm", {matrix({6}), x, matrix({4, 6})}, {{"alpha", 2}});
  Value* const wide_bias = builder.add("aten::addmm", {matrix({5, 6}), x, matrix({4, 6})});
  Value* const vector = builder.add("aten::matmul", {x, matrix({4})});
  Value* const batches = builder.add("aten::matmul", {x, matrix({3, 4, 2})});
  EXPECT_EQ(finish({scaled, wide_bias, vector, batches}).report.packed_linears, 0u);
}

TEST_F(rewriting, a_linear_layer_with_a_second_reader_keeps_its_own_output) {
  Value* const y = builder.add("aten::linear", {rows(), matrix({4, 4})});
  const rewritten made = finish({builder.add("aten::relu", {y}), y});
  EXPECT_EQ(made.report.packed_linears, 1u);
  EXPECT_EQ(made.report.joined_relus, 0u);
}

TEST_F(rewriting, float64_and_weights_from_outside_stay) {
  Value* const x = rows();
  Value* const wide = builder.add("aten::linear", {builder.input(at::randn({2, 4}, at::kDouble)),
                                                   builder.constant(at::randn({3, 4}, at::kDouble))});
  Value* const given = builder.add("aten::linear", {x, builder.input(at::randn({3, 4}))});
  builder.output(wide);
  builder.output(given);
  EXPECT_EQ(rewrite(builder.graph()).report.packed_linears, 0u);
}

TEST_F(rewriting, a_device_gets_no_packed_weights) {
  builder.output(builder.add("aten::linear", {rows(), matrix({4, 4})}));
  const rewritten made = rewrite(builder.graph(), rewrite_target::device);
  EXPECT_EQ(made.count("aten::linear"), 1u);
}

TEST_F(rewriting, weights_of_the_plain_graph_stay_as_they_are) {
  const at::Tensor weight = at::randn({4, 4});
  const at::Tensor before = weight.clone();
  Value* const y = builder.add("aten::linear", {rows(), builder.constant(weight)});
  finish({builder.add("aten::mul", {y, matrix({4})})});
  EXPECT_TRUE(at::equal(weight, before));
}

TEST_F(rewriting, operators_inside_of_blocks_stay) {
  auto graph = std::make_shared<torch::jit::Graph>();
  Value* const x = graph->addInput();
  Value* const condition = graph->addInput()->setType(c10::BoolType::get());
  torch::jit::Node* choice = graph->insertNode(graph->create(c10::prim::If, {condition}));
  for (int block = 0; block < 2; ++block) {
    torch::jit::Block* inside = choice->addBlock();
    torch::jit::WithInsertPoint at_end(inside->return_node());
    Value* y = graph->insert(c10::aten::linear, {x, graph->insertConstant(at::randn({4, 4}))});
    inside->registerOutput(graph->insert(c10::aten::relu, {y}));
  }
  graph->registerOutput(choice->output());
  const rewritten made = rewrite(graph);
  EXPECT_EQ(made.report, rewrite_report{});
}

}  // namespace
}  // namespace troupe::testing
