// Goal: the checks in scripted code keep no rewrite from its work. Method: a scripted residual network, whose
// normalisations check the rank of their inputs, against the same network traced, and against eager PyTorch's outputs.
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/csrc/jit/ir/irparser.h>

#include "tests/runtime/graph/recorded_model.hpp"
#include "tests/runtime/rewrite/graph_builder.hpp"

namespace troupe::testing {
namespace {

recorded_model recorded_network(const std::string& name) {
  return read_recorded(source_dir() / "tests/runtime/graph/recorded" / (name + ".pt"));
}

TEST(checks, leave_a_scripted_network_as_fast_as_the_traced_one) {
  at::set_num_threads(1);
  const c10::InferenceMode inference;
  const rewritten traced = rewrite(recorded_network("resnet_traced").graph.graph);
  const recorded_model model = recorded_network("resnet_scripted");
  const rewritten scripted = rewrite(model.graph.graph);
  EXPECT_GT(traced.report.folded_normalisations, 0u);
  EXPECT_EQ(scripted.report.folded_normalisations, traced.report.folded_normalisations);
  EXPECT_EQ(scripted.report.packed_convolutions, traced.report.packed_convolutions);
  EXPECT_EQ(scripted.report.joined_relus, traced.report.joined_relus);
  EXPECT_EQ(scripted.count("prim::If"), 0u);
  for (const recorded_model::batch& batch : model.batches) {
    EXPECT_TRUE(outputs_of(scripted.graph, batch.in).at(0).allclose(batch.out.at(0), 1e-5, 1e-6));
  }
}

/// An `if` on the rank of %x whose first branch is `branch`.
std::shared_ptr<torch::jit::Graph> graph_with(const std::string& branch) {
  const auto graph = std::make_shared<torch::jit::Graph>();
  torch::jit::parseIR(R"IR(
graph(%x : Tensor):
  %four : int = prim::Constant[value=4]()
  %one : int = prim::Constant[value=1]()
  %text : str = prim::Constant[value="no images"]()
  %rank : int = aten::dim(%x)
  %wrong : bool = aten::ne(%rank, %four)
  %y : Tensor = aten::relu(%x)
  prim::If(%wrong)
    block0():
      )IR" + branch + R"IR(
      -> ()
    block1():
      -> ()
  return (%y))IR",
                      graph.get());
  return graph;
}

TEST(checks, go_where_they_only_raise) {
  const rewritten made = rewrite(graph_with("prim::RaiseException(%text, %text)"));
  EXPECT_EQ(made.count("prim::If"), 0u);
  EXPECT_EQ(made.count("aten::dim"), 0u);
}

/// As many paths as 2^200 lead from the condition to the rank.
TEST(checks, go_where_parts_of_their_condition_are_read_again_and_again) {
  const auto graph = graph_with("prim::RaiseException(%text, %text)");
  torch::jit::Node* const check = graph->return_node()->prev();
  ASSERT_EQ(check->kind(), c10::prim::If);
  const torch::jit::WithInsertPoint before(check);
  torch::jit::Value* condition = check->input();
  for (int i = 0; i < 200; ++i)
    condition = graph->insert(c10::Symbol::fromQualString("aten::__and__"), {condition, condition});
  check->replaceInput(0, condition);
  EXPECT_EQ(rewrite(graph).count("prim::If"), 0u);
}

TEST(checks, stay_where_they_write) {
  EXPECT_EQ(rewrite(graph_with("%z : Tensor = aten::add_(%y, %one, %one)")).count("prim::If"), 1u);
  EXPECT_EQ(rewrite(graph_with("%z : Tensor = aten::add_(%y, %one, %one)\n      prim::RaiseException(%text, %text)"))
                .count("prim::If"),
            1u);
}

}  // namespace
}  // namespace troupe::testing
