#include "runtime/rewrite/needed_weights.hpp"

#include <algorithm>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/graph/graph_code.hpp"
#include "runtime/model/output_difference.hpp"
#include "runtime/rewrite/rewrite_graph.hpp"
#include "runtime/tensor/faithful_copy.hpp"
#include "tests/runtime/graph/recorded_model.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

std::vector<at::Tensor> copies(const std::vector<at::Tensor>& of) {
  std::vector<at::Tensor> made;
  for (const at::Tensor& each : of) made.push_back(faithful_copy(each));
  return made;
}

/// The rewritten layers [begin, end), by a process that has all weights, or those of these layers alone.
graph_part rewritten(const layered_graph& plain, std::size_t begin, std::size_t end, bool has_all) {
  operator_graph graph = has_all ? plain.copy() : with_weights_of(plain, begin, end);
  rewrite_graph(graph, rewrite_target::cpu);
  return layered_graph(std::move(graph), plain).part(begin, end);
}

std::vector<at::Tensor> run(const graph_part& part, const std::vector<at::Tensor>& inputs) {
  return graph_code(part).run(copies(inputs));
}

class needed_weights : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  void SetUp() override { at::set_num_threads(1); }
};

/// Cuts at every place between two operators, so also in the middle of what the rewrites fold and join.
void compare_at_every_place(operator_graph model, const std::vector<at::Tensor>& inputs) {
  const c10::InferenceMode inference;
  const layered_graph plain(std::move(model), layer_unit::operators);
  const std::size_t end = plain.layers().size();
  std::size_t parts = 0;
  std::size_t lacking = 0;
  const auto compare = [&](std::size_t from, std::size_t to, const std::vector<at::Tensor>& given) {
    const auto all = run(rewritten(plain, from, to, true), given);
    const graph_part limited = rewritten(plain, from, to, false);
    ++parts;
    if (lacks_weights(*limited.graph)) {
      ++lacking;  // it is told, and the process takes all weights
      return all;
    }
    EXPECT_TRUE(std::ranges::equal(all, run(limited, given), are_same_bits)) << "layers " << from << " to " << to;
    return all;
  };
  for (std::size_t place = 1; place < end; ++place) {
    if (plain.can_begin(place)) compare(place, end, compare(0, place, inputs));
  }
  EXPECT_LE(lacking * 4, parts) << lacking << " of " << parts << " parts had to read all weights";
}

TEST_P(needed_weights, give_each_part_the_bits_that_it_has_with_all_weights) {
  recorded_model model = read_recorded(GetParam());
  if (model.graph.state) GTEST_SKIP() << "a model with a state is not cut";
  compare_at_every_place(std::move(model.graph), model.batches.front().in);
}

INSTANTIATE_TEST_SUITE_P(models, needed_weights, ::testing::ValuesIn(recorded_models()),
                         [](const auto& info) { return info.param.stem().string(); });

/// A part may have some of the weights that are folded together, and not the others.
TEST(needed_weights, of_chains_of_layers_and_constants_and_of_weights_that_layers_share) {
  torch::jit::Module module("Net");
  module.register_parameter("w", at::rand({6, 6}), false);
  module.register_parameter("b", at::rand({6}), false);
  module.register_parameter("c", at::rand({6}), false);
  for (const char* name : {"k", "m", "v"}) module.register_buffer(name, at::rand({6}) + 1);
  module.define(R"(
def forward(self, x):
    x = torch.div(torch.linear(x, self.w, self.b), self.k)
    x = torch.add(torch.mul(torch.linear(x, self.w, self.c), self.k), self.m)
    x = torch.batch_norm(torch.linear(x, self.w), self.b, self.c, self.m, self.v, False, 0.1, 1e-5, True)
    x = torch.batch_norm(torch.linear(x, self.w, self.b), self.k, self.c, self.m, self.v, False, 0.1, 1e-5, True)
    return torch.relu(torch.sub(x, self.k))
)");
  auto lowered = lower_module(module, "net");
  ASSERT_TRUE(lowered);
  compare_at_every_place(std::move(*lowered), {at::rand({4, 6})});
}

std::uint64_t bytes_in_memory(const operator_graph& model) {
  std::uint64_t bytes = 0;
  for (const graph_weight& each : model.weights) bytes += each.tensor.is_meta() ? 0 : each.tensor.nbytes();
  return bytes;
}

TEST(with_weights_of, keeps_little_more_than_the_weights_of_the_layers) {
  torch::jit::Module module = torch::jit::load((data_dir() / "cifar10/resnet20.pt").string(), at::kCPU);
  auto lowered = lower_module(module, "resnet20");
  ASSERT_TRUE(lowered);
  const std::uint64_t all = bytes_in_memory(*lowered);
  const layered_graph plain(std::move(*lowered), layer_unit::modules);
  const std::size_t end = plain.layers().size();
  const std::uint64_t first = bytes_in_memory(with_weights_of(plain, 0, end / 2));
  const std::uint64_t second = bytes_in_memory(with_weights_of(plain, end / 2, end));
  EXPECT_GT(first, 0);
  EXPECT_GT(second, 0);
  EXPECT_LE(first + second, all + all / 20);
}

}  // namespace
}  // namespace troupe::testing
