// Goal: models from files are trained by their operators, wherever they are cut, with the gradients of LibTorch's
// autograd. Method: the module itself, run by LibTorch, and small scripted modules with one oddity each.
#include <set>

#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include "runtime/graph/bind_inputs.hpp"
#include "runtime/training/evaluation_mode.hpp"
#include "runtime/training/graph_training_part.hpp"
#include "runtime/training/shared_layers.hpp"
#include "tests/runtime/exported/exported_files.hpp"
#include "tests/runtime/training/plain_loop.hpp"
#include "tests/runtime/training/plain_pipeline.hpp"
#include "tests/support/paths.hpp"
#include <troupe/model.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

layered_graph_ptr layers_of(const model& loaded, layer_unit unit = layer_unit::modules) {
  operator_graph graph = loaded.graph();
  graph.graph = graph.graph->copy();
  bind_inputs(graph, {""});
  return std::make_shared<const layered_graph>(std::move(graph), unit);
}

std::vector<std::unique_ptr<autograd_body>> graph_stages_of(const layered_graph_ptr& graph,
                                                            std::vector<std::size_t> cuts,
                                                            const training_body_options& options) {
  cuts.insert(cuts.begin(), 0);
  cuts.push_back(graph->layers().size());
  std::vector<std::unique_ptr<autograd_body>> stages;
  for (std::size_t at = 0; at + 1 < cuts.size(); ++at)
    stages.push_back(get(make_training_body(get(make_graph_training_part(graph, cuts[at], cuts[at + 1])), options)));
  return stages;
}

torch::jit::Module scripted(const std::string& source, const std::vector<std::pair<std::string, at::Tensor>>& weights) {
  torch::jit::Module module("__torch__.Net");
  for (const auto& [name, tensor] : weights) module.register_parameter(name, tensor.requires_grad_(), false);
  module.define(source);
  return module;
}

TEST(graph_training_part, lenet_has_equal_bits_for_every_cut) {
  const model lenet = get(load_model(data_dir() / "mnist/lenet.pt"));
  const layered_graph_ptr graph = layers_of(lenet);
  const training_loss nll{.kind = loss_kind::nll};
  const training_body_options options{.optimizer = {.momentum = 0.9}, .loss = nll};
  const auto batches = [](int step) { return picture_batches(1, 28, "lenet" + std::to_string(step), {4, 4, 3}); };
  plain_pipeline whole(graph_stages_of(graph, {}, options));
  std::vector<double> losses;
  for (int step = 0; step < 2; ++step) losses.push_back(get(whole.step(batches(step), 0.01)));
  for (std::size_t cut = 1; cut < graph->layers().size(); cut += 3) {
    training_body_options own = options;
    own.recompute_interval = cut % 2;
    plain_pipeline parts(graph_stages_of(graph, {cut}, own));
    for (int step = 0; step < 2; ++step)
      EXPECT_EQ(get(parts.step(batches(step), 0.01)), losses[static_cast<std::size_t>(step)]);
    expect_equal(parts.weights(), whole.weights());
  }
}

TEST(graph_training_part, has_the_gradients_of_the_module) {
  const auto file = (data_dir() / "cifar10/resnet20.pt").string();
  torch::jit::Module module = torch::jit::load(file);
  module.eval();
  const plain_batch batch = picture_batches(3, 32, "module", {4}).front();
  std::vector<at::Tensor> parameters;
  std::vector<std::string> names;
  for (const auto& each : module.named_parameters()) {
    names.push_back(each.name);
    parameters.push_back(each.value.detach().requires_grad_());
  }
  const layered_graph_ptr graph = layers_of(get(load_model(file)));
  plain_pipeline trained(graph_stages_of(graph, {5}, {}));
  EXPECT_THAT(evaluation_mode_of(*graph),
              ::testing::ElementsAre(HasSubstr("19 batch normalisations keep their statistics")));
  const state_dict before = trained.weights();
  const double loss = get(trained.step({batch}, 1));
  for (const auto& each : module.named_parameters()) at::Tensor(each.value).requires_grad_();
  std::vector<at::Tensor> leaves;
  for (const auto& each : module.named_parameters()) leaves.push_back(each.value);
  const at::Tensor plain = at::cross_entropy_loss(module.forward({batch.inputs}).toTensor(), batch.labels);
  EXPECT_NEAR(loss, plain.item<double>(), 1e-6);
  const auto gradients = torch::autograd::grad({plain}, leaves);
  const state_dict after = trained.weights();
  std::size_t compared = 0;
  for (std::size_t at = 0; at < names.size(); ++at) {
    for (std::size_t other = 0; other < before.size(); ++other) {
      if (before[other].name != names[at]) continue;
      const at::Tensor moved = before[other].tensor - after[other].tensor;
      EXPECT_TRUE(at::allclose(moved, gradients[at], 1e-3, 1e-5)) << names[at];
      ++compared;
    }
  }
  EXPECT_EQ(compared, names.size());
}

TEST(graph_training_part, names_an_operator_without_gradient) {
  const auto module = scripted(
      "def forward(self, x):\n  y = torch.matmul(x, self.weight)\n  return torch.nextafter(y, torch.ones_like(y))\n",
      {{"weight", formula_uniform("weight", {12, 5})}});
  plain_pipeline trained(graph_stages_of(layers_of(get(make_model(module, "net.pt")), layer_unit::operators), {}, {}));
  const auto done = trained.step(row_batches("odd", {3}), 0.1);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, error_code::forward_failed);
  EXPECT_THAT(done.error().cause, HasSubstr("the operator aten::nextafter"));
  EXPECT_THAT(done.error().cause, HasSubstr("has no gradient"));
}

/// The mask has none, and takes type and shape of what has one.
TEST(graph_training_part, takes_values_of_the_type_and_shape_of_another) {
  const auto module = scripted(
      "def forward(self, x):\n  y = torch.matmul(x, self.weight)\n  mask = (x[:, :1] > 0).type_as(y).expand_as(y)\n"
      "  return y * mask * (x[:, :1] < 9).to(y)\n",
      {{"weight", formula_uniform("weight", {12, 5})}});
  for (const layer_unit unit : {layer_unit::modules, layer_unit::operators}) {
    plain_pipeline trained(graph_stages_of(layers_of(get(make_model(module, "net.pt")), unit), {}, {}));
    const auto done = trained.step(row_batches("odd", {3}), 0.1);
    EXPECT_TRUE(done) << to_string(done.error());
  }
}

TEST(graph_training_part, a_weight_of_several_layers_has_equal_bits_for_every_cut) {
  const auto module = scripted(
      "def forward(self, x):\n  y = torch.relu(torch.matmul(x, self.weight))\n"
      "  y = torch.relu(torch.matmul(y, self.weight))\n  return torch.matmul(y, self.weight)\n",
      {{"weight", formula_uniform("weight", {12, 12})}});
  const auto graph = layers_of(get(make_model(module, "net.pt")), layer_unit::operators);
  ASSERT_EQ(graph->layers().size(), 5u);
  const auto steps = [&](const std::vector<std::size_t>& cuts) {
    plain_pipeline trained(graph_stages_of(graph, cuts, {.optimizer = {.momentum = 0.9}}));
    trained.send_bytes();
    for (int step = 0; step < 3; ++step) must(trained.step(row_batches("tied" + std::to_string(step), {3, 2, 2}), 0.1));
    return std::pair(trained.weights(), trained.moments());
  };
  const auto whole = steps({});
  ASSERT_EQ(whole.first.size(), 1u);
  EXPECT_FALSE(at::equal(whole.first[0].tensor, formula_uniform("weight", {12, 12})));
  for (const std::vector<std::size_t>& cuts : std::vector<std::vector<std::size_t>>{{1}, {3}, {2, 4}, {1, 2, 3, 4}}) {
    const auto cut = steps(cuts);
    expect_equal(cut.first, whole.first);
    expect_equal(cut.second, whole.second);
  }
  EXPECT_EQ(shared_layers_of(*graph), (shared_layers{{0, 2, 4}}));
}

TEST(graph_training_part, tensors_that_pass_by_a_stage_have_their_gradient) {
  const std::string source =
      "def forward(self, x):\n"
      "  a = torch.matmul(x, self.first)\n"
      "  b = torch.relu(a)\n"
      "  c = torch.matmul(b, self.second)\n"
      "  return torch.matmul(a * c + b, self.third)\n";
  const auto module = scripted(source, {{"first", formula_uniform("first", {12, 12})},
                                        {"second", formula_uniform("second", {12, 12})},
                                        {"third", formula_uniform("third", {12, 5})}});
  const auto graph = layers_of(get(make_model(module, "net.pt")), layer_unit::operators);
  plain_pipeline whole(graph_stages_of(graph, {}, {}));
  const double loss = get(whole.step(row_batches("past", {3, 2}), 0.1));
  plain_pipeline cut(graph_stages_of(graph, {1, 2, 3, 4}, {}));
  EXPECT_EQ(get(cut.step(row_batches("past", {3, 2}), 0.1)), loss);
  expect_equal(cut.weights(), whole.weights());
}

/// Attention chooses another kernel for a mask that requires a gradient, which this one does in no model that is whole.
TEST(graph_training_part, a_mask_that_passes_by_has_no_gradient) {
  const std::string source =
      "def forward(self, x):\n"
      "  mask = (x[:, None, None, :8] > 0.5).to(x) * -3.0\n"
      "  h = torch.matmul(x, self.first).reshape(x.size(0), 2, 8, 6)\n"
      "  a = torch.scaled_dot_product_attention(h, h, h, attn_mask=mask)\n"
      "  return torch.matmul(a.reshape(x.size(0), 96), self.second)\n";
  const auto module =
      scripted(source, {{"first", formula_uniform("first", {12, 96})}, {"second", formula_uniform("second", {96, 5})}});
  const auto graph = layers_of(get(make_model(module, "net.pt")), layer_unit::operators);
  plain_pipeline whole(graph_stages_of(graph, {}, {}));
  const double loss = get(whole.step(row_batches("mask", {3, 2}), 0.1));
  for (std::size_t cut = 1; cut < graph->layers().size(); ++cut) {
    for (const std::uint32_t interval : {0u, 1u}) {
      plain_pipeline parts(graph_stages_of(graph, {cut}, {.recompute_interval = interval}));
      EXPECT_EQ(get(parts.step(row_batches("mask", {3, 2}), 0.1)), loss) << cut;
      expect_equal(parts.weights(), whole.weights());
    }
  }
}

TEST(graph_training_part, dropout_draws_by_key_wherever_it_is_cut) {
  const auto module = scripted(
      "def forward(self, x):\n  y = torch.dropout(torch.matmul(x, self.first), 0.3, True)\n"
      "  return torch.matmul(torch.dropout(torch.relu(y), 0.5, True), self.second)\n",
      {{"first", formula_uniform("first", {12, 12})}, {"second", formula_uniform("second", {12, 5})}});
  const auto graph = layers_of(get(make_model(module, "net.pt")), layer_unit::operators);
  plain_pipeline whole(graph_stages_of(graph, {}, {.seed = 4}));
  std::vector<double> losses;
  for (int step = 0; step < 3; ++step) losses.push_back(get(whole.step(row_batches("same", {3, 2}), 0.1)));
  EXPECT_NE(get(plain_pipeline(graph_stages_of(graph, {}, {.seed = 5})).step(row_batches("same", {3, 2}), 0.1)),
            losses[0]);
  for (const std::uint32_t interval : {0, 1, 2}) {
    plain_pipeline cut(graph_stages_of(graph, {1, 3}, {.seed = 4, .recompute_interval = interval}));
    for (const double loss : losses) EXPECT_EQ(get(cut.step(row_batches("same", {3, 2}), 0.1)), loss);
    expect_equal(cut.weights(), whole.weights());
  }
}

class exported_training : public ::testing::TestWithParam<const char*> {};

/// A step along the gradient takes as much from the loss as the gradient says, to first order, and every cut has its
/// bits.
TEST_P(exported_training, descends_as_its_gradient_says) {
  const model loaded = get(load_model(recorded_file(std::string(GetParam()) + ".pt2")));
  operator_graph bound = loaded.graph();
  bound.graph = bound.graph->copy();
  std::set<std::string> names;
  for (const graph_input& each : bound.inputs) names.insert(each.name);
  bind_inputs(bound, names);
  const auto graph = std::make_shared<const layered_graph>(std::move(bound), layer_unit::modules);
  const auto calls = recorded_calls(GetParam());
  const std::vector<plain_batch> batches = {
      {calls.front().inputs.front(), at::zeros({calls.front().inputs.front().size(0)})}};
  const training_body_options options{
      .loss = {.kind = loss_kind::custom,
               .function =
                   [](const at::Tensor& outputs, const at::Tensor& labels) {
                     return loss_terms{outputs.square().sum(), static_cast<double>(labels.size(0))};
                   },
               .names = {.output = graph->model().outputs.back()}}};
  plain_pipeline whole(graph_stages_of(graph, {}, options));
  must(whole.passes(batches));
  step_vote vote;
  must(whole.stages().front()->finish(0, {}, {}, vote));
  double norm = 0;
  for (const double each : vote.squared_norms) norm += each;
  const double before = whole.loss_sum();
  const double rate = 0.002 * before / norm;
  ASSERT_GT(norm, 0);
  must(whole.apply(1, rate));
  const state_dict weights = whole.weights();
  must(whole.passes(batches));
  EXPECT_NEAR((before - whole.loss_sum()) / (rate * norm), 1, 0.1);
  for (std::size_t at = 1; at < graph->layers().size(); ++at) {
    if (!graph->can_begin(at)) continue;
    plain_pipeline cut(graph_stages_of(graph, {at}, options));
    cut.send_bytes();
    must(cut.passes(batches));
    must(cut.finish());
    must(cut.apply(1, rate));
    expect_equal(cut.weights(), weights);
  }
}

INSTANTIATE_TEST_SUITE_P(all, exported_training,
                         ::testing::Values("tied_mlp", "skip_cnn", "unet", "lstm", "branch", "loop"));

}  // namespace
}  // namespace troupe::testing
