#include <map>

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/replace_weights.hpp"
#include "tests/runtime/graph/recorded_model.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using ::testing::Eq;

operator_graph lowered(const torch::jit::Module& module) {
  auto made = lower_module(module, "model");
  if (!made) throw std::runtime_error(to_string(made.error()));
  return std::move(*made);
}

torch::jit::Module resnet() {
  torch::jit::Module module = torch::jit::load((data_dir() / "cifar10/resnet20.pt").string(), at::kCPU);
  module.eval();
  return module;
}

TEST(graph_weights, have_the_names_that_libtorch_gives_them) {
  const torch::jit::Module module = resnet();
  const operator_graph model = lowered(module);
  std::map<std::string, const void*> wanted;
  for (const auto& each : module.named_parameters()) wanted.emplace(each.name, each.value.data_ptr());
  for (const auto& each : module.named_buffers()) wanted.emplace(each.name, each.value.data_ptr());
  std::map<std::string, const void*> found;
  for (const graph_weight& each : model.weights) found.emplace(each.name, each.tensor.data_ptr());
  EXPECT_THAT(found, Eq(wanted));
  const graph_weight* const one = model.weights.find(std::string("2.running_var"));
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(one->kind, weight_kind::buffer);
  EXPECT_EQ(model.weights.find(one->tensor), one);
}

TEST(replace_weights, changes_each_tensor_once_and_leaves_the_model) {
  const operator_graph model = lowered(resnet());
  std::map<const void*, int> asked;
  const operator_graph doubled = replace_weights(model, [&](const graph_weight& weight) {
    ++asked[weight.tensor.unsafeGetTensorImpl()];
    return weight.tensor.is_floating_point() ? weight.tensor * 2 : weight.tensor;
  });
  for (const auto& [tensor, count] : asked) EXPECT_EQ(count, 1);
  std::size_t seen = 0;
  for (torch::jit::Node* step : steps_of(*doubled.graph)) {
    each_constant(*step, [&](const at::Tensor& one) {
      const graph_weight* const weight = doubled.weights.find(one);
      if (weight == nullptr || !one.is_floating_point()) return;
      ++seen;
      EXPECT_TRUE(one.equal(model.weights.find(weight->name)->tensor * 2)) << weight->name;
    });
  }
  EXPECT_GT(seen, 50);
}

bool is_aligned(const at::Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(tensor.storage().data()) % 64 == 0;
}

TEST(with_aligned_weights, copies_those_that_begin_elsewhere_and_keeps_views_together) {
  operator_graph model = lowered(resnet());
  at::Tensor memory = at::arange(200, at::kFloat);
  auto* const odd = memory.data_ptr<float>() + 3;
  const at::Tensor whole = at::from_blob(odd, {64}, at::kFloat);
  const at::Tensor view = at::empty({0}, at::kFloat).set_(whole.storage(), 8, {4, 2}, {1, 4});
  ASSERT_FALSE(is_aligned(whole));
  const at::Tensor kept = model.weights.find(std::string("2.weight"))->tensor;
  model.weights.add("whole", whole, weight_kind::trainable);
  model.weights.add("view", view, weight_kind::buffer);
  const operator_graph aligned = with_aligned_weights(model);
  const at::Tensor& made = aligned.weights.find(std::string("view"))->tensor;
  EXPECT_TRUE(is_aligned(made));
  EXPECT_TRUE(made.equal(view));
  EXPECT_EQ(made.strides(), view.strides());
  EXPECT_EQ(made.storage().data(), aligned.weights.find(std::string("whole"))->tensor.storage().data());
  EXPECT_EQ(aligned.weights.find(std::string("2.weight"))->tensor.data_ptr(), kept.data_ptr());
}

}  // namespace
}  // namespace troupe::testing
