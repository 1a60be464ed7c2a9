// Goal: chains are found and flattened, and other models are refused with the node and a remedy. Method: the real
// models, and small TorchScript models that go through a file; the expected names, types and counts are written by
// hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/model/chain_graph.hpp"
#include "runtime/model/chain_summary.hpp"
#include "torchscript.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string relu_source = "def forward(self, x):\n  return torch.relu(x)\n";

std::vector<std::string> names_and_types(const layer_chain& chain) {
  std::vector<std::string> all;
  for (const layer& one : chain.layers) all.push_back(one.name + " " + one.type);
  return all;
}

void expect_no_chain(const torch::jit::Module& module, const std::string& words, const std::string& fix) {
  const auto chain = saved_and_loaded(module);
  ASSERT_FALSE(chain) << words;
  EXPECT_EQ(chain.error().code, error_code::model_not_usable) << to_string(chain.error());
  EXPECT_THAT(chain.error().cause, HasSubstr(words));
  EXPECT_THAT(chain.error().fix, HasSubstr(fix));
  EXPECT_THAT(chain.error().where, HasSubstr("model.pt"));
}

TEST(layer_chain, finds_the_layers_of_lenet) {
  const auto chain = load_chain(lenet_file());
  ASSERT_TRUE(chain) << to_string(chain.error());
  EXPECT_THAT(names_and_types(*chain), ElementsAre("0 Resize", "1 Normalize", "2 Conv2d", "3 ReLU", "4 MaxPool2d",
                                                   "5 Conv2d", "6 ReLU", "7 MaxPool2d", "8 Conv2d", "9 ReLU",
                                                   "10 Flatten", "11 Linear", "12 ReLU", "13 Linear", "14 LogSoftmax"));
  const auto summary = summarize(*chain);
  // 6x(1x5x5+1) + 16x(6x5x5+1) + 120x(16x5x5+1) + 84x(120+1) + 10x(84+1)
  EXPECT_EQ(summary.parameters, 61706u);
  EXPECT_EQ(summary.parameter_bytes, 4u * 61706u);
  EXPECT_EQ(summary.layers[8].parameters, 120u * 401u);
  EXPECT_EQ(summary.layers[3].parameters, 0u);
}

TEST(layer_chain, residual_blocks_are_one_layer_each) {
  const auto chain = load_chain(resnet_file());
  ASSERT_TRUE(chain) << to_string(chain.error());
  ASSERT_EQ(chain->layers.size(), 15u);
  for (std::size_t i = 4; i <= 12; ++i) EXPECT_EQ(chain->layers[i].type, "BasicBlock");
  EXPECT_EQ(chain->layers[1].parameters, 16u * 3u * 9u);
  EXPECT_EQ(chain->layers[4].parameters, 2u * (16u * 16u * 9u + 32u));
  // two batch norms with running mean and variance of 16 floats and one 64-bit counter
  EXPECT_EQ(chain->layers[4].buffer_bytes, 2u * (2u * 16u * 4u + 8u));
  for (const layer& one : chain->layers) EXPECT_FALSE(may_write_input(one.module)) << to_string(one);
}

TEST(layer_chain, flattens_nested_sequentials) {
  const auto inner =
      sequential("Sequential", {{"conv", linear("Linear", 4, 4)}, {"act", scripted("ReLU", relu_source)}});
  const auto outer = sequential("Sequential", {{"a", inner}, {"b", sequential("Sequential", {{"deep", inner}})}});
  const auto model = sequential("Net", {{"features", outer}, {"head", linear("Linear", 4, 2)}});
  const auto chain = saved_and_loaded(model);
  ASSERT_TRUE(chain) << to_string(chain.error());
  EXPECT_THAT(names_and_types(*chain),
              ElementsAre("features.a.conv Linear", "features.a.act ReLU", "features.b.deep.conv Linear",
                          "features.b.deep.act ReLU", "head Linear"));
}

TEST(layer_chain, children_may_be_reached_through_a_module_without_forward) {
  torch::jit::Module list("ModuleList");
  list.register_module("first", linear("Linear", 4, 4));
  list.register_module("second", linear("Linear", 4, 2));
  const auto model =
      container("Net", {{"list", list}},
                "def forward(self, x):\n  return self.list.second.forward(self.list.first.forward(x))\n");
  const auto chain = saved_and_loaded(model);
  ASSERT_TRUE(chain) << to_string(chain.error());
  EXPECT_THAT(names_and_types(*chain), ElementsAre("list.first Linear", "list.second Linear"));
}

TEST(layer_chain, a_model_without_children_is_one_layer) {
  const auto chain = saved_and_loaded(scripted("Doubler", "def forward(self, x):\n  return x + x * 1.5\n"));
  ASSERT_TRUE(chain) << to_string(chain.error());
  EXPECT_THAT(names_and_types(*chain), ElementsAre("model Doubler"));
}

TEST(layer_chain, a_child_that_is_no_chain_inside_is_one_layer) {
  const auto block =
      container("Block", {{"f", linear("Linear", 4, 4)}}, "def forward(self, x):\n  return x + self.f.forward(x)\n");
  const auto chain = saved_and_loaded(sequential("Net", {{"block", block}, {"head", linear("Linear", 4, 2)}}));
  ASSERT_TRUE(chain) << to_string(chain.error());
  EXPECT_THAT(names_and_types(*chain), ElementsAre("block Block", "head Linear"));
}

TEST(layer_chain, a_traced_identity_is_a_layer_that_passes_its_input_on) {
  const auto identity = scripted("Identity", "def forward(self) -> None:\n  return None\n");
  const auto model =
      container("Net", {{"a", linear("Linear", 4, 3)}, {"id", identity}, {"b", linear("Linear", 3, 2)}},
                "def forward(self, x):\n  y = self.a.forward(x)\n  self.id.forward()\n  return self.b.forward(y)\n");
  const auto chain = saved_and_loaded(model);
  ASSERT_TRUE(chain) << to_string(chain.error());
  EXPECT_THAT(names_and_types(*chain), ElementsAre("a Linear", "id Identity", "b Linear"));
  const at::Tensor input = at::randn({5, 4});
  torch::jit::Module eager = model;
  for (const optimize_mode mode : {optimize_mode::none, optimize_mode::layer, optimize_mode::stage}) {
    const auto output = run_cut(*chain, {1, 2}, mode, input);
    ASSERT_TRUE(output) << to_string(output.error());
    EXPECT_TRUE(at::allclose(*output, eager.forward({input}).toTensor(), 1e-5, 1e-5));
  }
}

TEST(layer_chain, what_is_no_chain_is_refused_with_the_node) {
  const children two{{"a", linear("Linear", 4, 4)}, {"b", linear("Linear", 4, 4)}};
  const auto net = [&](const std::string& body) { return container("Net", two, "def forward(self, x):\n" + body); };
  expect_no_chain(net("  y = self.a.forward(x)\n  return self.b.forward(y) + y\n"), "aten::add",
                  "keep a skip connection within one module");
  expect_no_chain(net("  return self.b.forward(torch.relu(self.a.forward(x)))\n"), "aten::relu", "module of its own");
  expect_no_chain(net("  return self.b.forward(torch.relu(self.a.forward(x)))\n"), "after layer a", "nn.Sequential");
  expect_no_chain(net("  return self.b.forward(torch.flatten(x, 1))\n"), "before the first layer", "nn.Sequential");
  expect_no_chain(net("  return (self.a.forward(x), self.b.forward(x))\n"), "b, called at the node prim::CallMethod",
                  "nn.Sequential");
  expect_no_chain(net("  y = self.a.forward(x)\n  return (y, y)\n"), "prim::TupleConstruct", "module of its own");
  expect_no_chain(net("  y = self.a.forward(x)\n  self.b.forward(y)\n  return y\n"),
                  "does not give the output of its last layer", "");
  expect_no_chain(net("  self.a.forward(x)\n  return self.b.forward(x)\n"),
                  "does not take the output of the layer before it (a)", "");
  expect_no_chain(container("Net", two, "def forward(self, x, y):\n  return self.b.forward(self.a.forward(x))\n"),
                  "takes 2 inputs", "take one tensor");
  expect_no_chain(scripted("Net", "def forward(self, x):\n  return (x, x)\n"), "instead of one tensor", "one tensor");
  expect_no_chain(scripted("Net", "def run(self, x):\n  return x\n"), "no method forward", "nn.Sequential");
}

TEST(layer_chain, children_with_other_signatures_are_refused) {
  const auto pair = scripted("Pair", "def forward(self, x):\n  return (x, x)\n");
  const auto sum = scripted("Sum", "def forward(self, x, y):\n  return x + y\n");
  expect_no_chain(container("Net", {{"p", pair}}, "def forward(self, x):\n  return self.p.forward(x)\n"),
                  "the child p gives a (Tensor, Tensor)", "one tensor");
  expect_no_chain(container("Net", {{"s", sum}}, "def forward(self, x):\n  return self.s.forward(x, x)\n"),
                  "called with 2 arguments", "one tensor");
}

void expect_values(const torch::jit::Module& model, const at::Tensor& input, const std::vector<std::string>& layers) {
  const auto chain = saved_and_loaded(model);
  ASSERT_TRUE(chain) << to_string(chain.error());
  EXPECT_EQ(names_and_types(*chain), layers);
  torch::jit::Module eager = model;
  const at::Tensor wanted = eager.forward({input}).toTensor();
  for (const optimize_mode mode : {optimize_mode::none, optimize_mode::layer, optimize_mode::stage}) {
    for (const std::vector<std::size_t>& cuts : {std::vector<std::size_t>{}, {1}, {1, 2}}) {
      if (!cuts.empty() && cuts.back() >= layers.size()) continue;
      const auto output = run_cut(*chain, cuts, mode, input);
      ASSERT_TRUE(output) << to_string(output.error());
      EXPECT_TRUE(at::allclose(*output, wanted, 1e-5, 1e-5));
    }
  }
}

/// As torch.jit.trace writes a module that nn.Sequential has twice: the second call is another method.
TEST(layer_chain, a_child_that_is_called_twice_is_two_layers_with_one_weight) {
  auto twice = linear("Linear", 4, 4);
  twice.define("def forward1(self, x):\n  return torch.linear(x, self.weight, self.bias)\n");
  const children parts{{"a", twice}, {"act", scripted("ReLU", relu_source)}};
  expect_values(container("Net", parts,
                          "def forward(self, x):\n"
                          "  return self.a.forward1(self.act.forward(self.a.forward(x)))\n"),
                at::randn({5, 4}), {"a Linear", "act ReLU", "a Linear"});
  expect_values(
      container("Net", parts, "def forward(self, x):\n  return self.a.forward(self.act.forward(self.a.forward(x)))\n"),
      at::randn({5, 4}), {"a Linear", "act ReLU", "a Linear"});
  const auto chain =
      saved_and_loaded(container("Net", parts, "def forward(self, x):\n  return self.a.forward1(self.a.forward(x))\n"));
  ASSERT_TRUE(chain) << to_string(chain.error());
  const auto first = (*chain->layers[0].module.parameters().begin()).data_ptr();
  EXPECT_EQ((*chain->layers[1].module.parameters().begin()).data_ptr(), first);
}

TEST(layer_chain, a_nested_chain_that_is_called_twice_is_taken_apart_twice) {
  auto inner = container("Sequential", {{"a", linear("Linear", 4, 4)}, {"act", scripted("ReLU", relu_source)}},
                         "def forward(self, x):\n  return self.act.forward(self.a.forward(x))\n"
                         "def forward1(self, x):\n  return self.act.forward(self.a.forward(x))\n");
  expect_values(container("Net", {{"inner", inner}},
                          "def forward(self, x):\n  return self.inner.forward1(self.inner.forward(x))\n"),
                at::randn({5, 4}), {"inner.a Linear", "inner.act ReLU", "inner.a Linear", "inner.act ReLU"});
}

TEST(layer_chain, arguments_with_default_values_are_constants) {
  const std::string scaled =
      "def forward(self, x, factor: float = 2.0, mask: Optional[Tensor] = None):\n"
      "  y = x * factor\n"
      "  if mask is not None:\n    y = y * mask\n"
      "  return y\n";
  const at::Tensor input = at::randn({5, 4});
  expect_values(scripted("Scaled", scaled), input, {"model Scaled"});
  const children parts{{"s", scripted("Scaled", scaled)}, {"b", linear("Linear", 4, 3)}};
  expect_values(sequential("Net", parts), input, {"s Scaled", "b Linear"});
  expect_values(container("Net", parts,
                          "def forward(self, x, mask: Optional[Tensor] = None):\n"
                          "  return self.b.forward(self.s.forward(x, 0.5, mask))\n"),
                input, {"s Scaled", "b Linear"});
}

TEST(layer_chain, a_child_may_be_called_by_another_name) {
  expect_values(
      container("Net",
                {{"o", scripted("Other", "def encode(self, x):\n  return x * 3\n")}, {"b", linear("Linear", 4, 3)}},
                "def forward(self, x):\n  return self.b.forward(self.o.encode(x))\n"),
      at::randn({5, 4}), {"o Other", "b Linear"});
}

}  // namespace
}  // namespace troupe::testing
