// Goal: the layers of a model are those that its author knows, and a forward that cannot be used is refused with a
// remedy. Method: the real models, and small TorchScript models that go through a file; the expected names, types and
// counts are written by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "torchscript.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string relu_source = "def forward(self, x):\n  return torch.relu(x)\n";

std::vector<std::string> names_and_types(const layered_graph& graph) {
  std::vector<std::string> all;
  for (const graph_layer& one : graph.layers()) all.push_back(one.name + " " + one.type);
  return all;
}
std::vector<std::string> names_and_types(const model& of) {
  return names_and_types(*layers_of(of));
}

TEST(layers, of_lenet) {
  const layered_graph_ptr graph = layers_of(*load_model(lenet_file()));
  EXPECT_THAT(names_and_types(*graph), ElementsAre("0 Resize", "1 Normalize", "2 Conv2d", "3 ReLU", "4 MaxPool2d",
                                                   "5 Conv2d", "6 ReLU", "7 MaxPool2d", "8 Conv2d", "9 ReLU",
                                                   "10 Flatten", "11 Linear", "12 ReLU", "13 Linear", "14 LogSoftmax"));
  std::uint64_t parameters = 0;
  for (const graph_layer& each : graph->layers()) parameters += each.parameters;
  // 6x(1x5x5+1) + 16x(6x5x5+1) + 120x(16x5x5+1) + 84x(120+1) + 10x(84+1)
  EXPECT_EQ(parameters, 61706u);
  EXPECT_EQ(graph->layers()[8].parameters, 120u * 401u);
  EXPECT_EQ(graph->layers()[8].parameter_bytes, 4u * 120u * 401u);
  EXPECT_EQ(graph->layers()[3].parameters, 0u);
}

TEST(layers, residual_blocks_are_one_layer_each) {
  const layered_graph_ptr graph = layers_of(*load_model(resnet_file()));
  const auto& layers = graph->layers();
  ASSERT_EQ(layers.size(), 15u);
  for (std::size_t i = 4; i <= 12; ++i) EXPECT_EQ(layers[i].type, "BasicBlock");
  EXPECT_EQ(layers[1].parameters, 16u * 3u * 9u);
  EXPECT_EQ(layers[4].parameters, 2u * (16u * 16u * 9u + 32u));
  // two batch norms with running mean and variance of 16 floats
  EXPECT_EQ(layers[4].buffer_bytes, 2u * 2u * 16u * 4u);
}

TEST(layers, sizes_of_the_model_belong_to_the_module_that_uses_them) {
  const auto names = [](const std::string& file) {
    return names_and_types(*load_model(source_dir() / "tests/runtime/exported/recorded" / file));
  };
  EXPECT_THAT(names("lstm.pt2"), ElementsAre("lstm LSTM", "mean mean", "head Linear"));
  EXPECT_THAT(names("nested.pt2"), ElementsAre("model Nested"));
}

TEST(layers, flattens_nested_sequentials) {
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

TEST(layers, children_may_be_reached_through_a_module_without_forward) {
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

TEST(layers, a_model_without_children_is_one_layer) {
  const auto chain = saved_and_loaded(scripted("Doubler", "def forward(self, x):\n  return x + x * 1.5\n"));
  ASSERT_TRUE(chain) << to_string(chain.error());
  EXPECT_THAT(names_and_types(*chain), ElementsAre("model Doubler"));
}

TEST(layers, a_child_with_a_skip_connection_is_one_layer) {
  const auto block =
      container("Block", {{"f", linear("Linear", 4, 4)}}, "def forward(self, x):\n  return x + self.f.forward(x)\n");
  const auto chain = saved_and_loaded(sequential("Net", {{"block", block}, {"head", linear("Linear", 4, 2)}}));
  ASSERT_TRUE(chain) << to_string(chain.error());
  EXPECT_THAT(names_and_types(*chain), ElementsAre("block Block", "head Linear"));
}

TEST(layers, operators_between_children_are_layers_of_their_own) {
  const children two{{"a", linear("Linear", 4, 4)}, {"b", linear("Linear", 4, 4)}};
  const auto net = container("Net", two,
                             "def forward(self, x):\n"
                             "  y = torch.relu(self.a.forward(torch.flatten(x, 1)))\n"
                             "  return self.b.forward(y) + y\n");
  const auto loaded = saved_and_loaded(net);
  ASSERT_TRUE(loaded) << to_string(loaded.error());
  EXPECT_THAT(names_and_types(*loaded), ElementsAre("flatten flatten", "a Linear", "relu relu", "b Linear", "add add"));
}

/// Each method calls the one before it twice.
TEST(layers, code_that_grows_beyond_the_limit_when_its_calls_are_written_out_is_refused) {
  std::string source = "def f0(self, x):\n  return x + 1\n";
  for (int depth = 1; depth <= 30; ++depth) {
    const std::string before = "self.f" + std::to_string(depth - 1);
    source += "def f" + std::to_string(depth) + "(self, x):\n  return " + before + "(" + before + "(x))\n";
  }
  const auto refused = saved_and_loaded(scripted("Net", source + "def forward(self, x):\n  return self.f30(x)\n"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::model_beyond_limits) << to_string(refused.error());
  EXPECT_THAT(refused.error().cause, HasSubstr("more than 200000 operators"));
}

void expect_refusal(const torch::jit::Module& module, const std::string& words) {
  const auto refused = saved_and_loaded(module);
  ASSERT_FALSE(refused) << words;
  EXPECT_EQ(refused.error().code, error_code::model_not_usable) << to_string(refused.error());
  EXPECT_THAT(refused.error().cause, HasSubstr(words));
  EXPECT_THAT(refused.error().where, HasSubstr("model.pt"));
  EXPECT_FALSE(refused.error().fix.empty());
}

TEST(layers, a_forward_that_takes_or_gives_something_else_is_refused) {
  expect_refusal(scripted("Net", "def run(self, x):\n  return x\n"), "no method forward");
  expect_refusal(scripted("Net", "def forward(self, x, names: List[str]):\n  return x\n"), "takes names, a List[str]");
  expect_refusal(scripted("Net", "def forward(self, x):\n  return \"text\"\n"), "gives a str");
  expect_refusal(scripted("Net", "def forward(self, x):\n  return x.chunk(2)\n"), "not known before a run");
  expect_refusal(scripted("Net", "def forward(self, x):\n  return {str(x.size(0)): x}\n"), "not known before a run");
}

void expect_values(const torch::jit::Module& model, const at::Tensor& input, const std::vector<std::string>& layers) {
  const auto chain = saved_and_loaded(model);
  ASSERT_TRUE(chain) << to_string(chain.error());
  EXPECT_EQ(names_and_types(*chain), layers);
  torch::jit::Module eager = model;
  const at::Tensor wanted = eager.forward({input}).toTensor();
  for (const optimize_mode mode : {optimize_mode::none, optimize_mode::graph}) {
    for (const std::vector<std::size_t>& cuts : {std::vector<std::size_t>{}, {1}, {1, 2}}) {
      if (!cuts.empty() && cuts.back() >= layers.size()) continue;
      const auto output = run_cut(*chain, cuts, mode, input);
      ASSERT_TRUE(output) << to_string(output.error());
      EXPECT_TRUE(at::allclose(*output, wanted, 1e-5, 1e-5));
    }
  }
}

/// As torch.jit.trace writes a module that nn.Sequential has twice: the second call is another method.
TEST(layers, a_child_that_is_called_twice_is_two_layers_with_one_weight) {
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
  std::set<const void*> weights;
  for (const torch::jit::Node* step : steps_of(*chain->graph().graph))
    each_constant(*step, [&](const at::Tensor& one) { weights.insert(one.const_data_ptr()); });
  EXPECT_EQ(weights.size(), 2U);
}

TEST(layers, a_nested_chain_that_is_called_twice_is_taken_apart_twice) {
  auto inner = container("Sequential", {{"a", linear("Linear", 4, 4)}, {"act", scripted("ReLU", relu_source)}},
                         "def forward(self, x):\n  return self.act.forward(self.a.forward(x))\n"
                         "def forward1(self, x):\n  return self.act.forward(self.a.forward(x))\n");
  expect_values(container("Net", {{"inner", inner}},
                          "def forward(self, x):\n  return self.inner.forward1(self.inner.forward(x))\n"),
                at::randn({5, 4}), {"inner.a Linear", "inner.act ReLU", "inner.a Linear", "inner.act ReLU"});
}

TEST(layers, arguments_with_default_values_are_constants) {
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

TEST(layers, a_child_may_be_called_by_another_name) {
  expect_values(
      container("Net",
                {{"o", scripted("Other", "def encode(self, x):\n  return x * 3\n")}, {"b", linear("Linear", 4, 3)}},
                "def forward(self, x):\n  return self.b.forward(self.o.encode(x))\n"),
      at::randn({5, 4}), {"o Other", "b Linear"});
}

}  // namespace
}  // namespace troupe::testing
