// Goal: a layer that cannot be trained gives an error that names it and says what to do; layers that are tied within a
// stage are trained as one weight. Method: small modules with one oddity each.
#include <gmock/gmock.h>

#include "tests/runtime/training/plain_loop.hpp"
#include "tests/runtime/training/plain_pipeline.hpp"
#include "tests/runtime/training/trained_models.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

std::vector<layer_spec> with_layer(layer_spec odd) {
  std::vector<layer_spec> layers = mlp_layers();
  layers.insert(layers.begin() + 2, std::move(odd));
  return layers;
}

error error_of_step(const std::vector<layer_spec>& layers) {
  plain_pipeline trained = pipeline_of(layers, {}, {});
  const auto done = trained.step(row_batches("odd", {4, 3}), 0.1);
  EXPECT_FALSE(done);
  return done ? error{} : done.error();
}

TEST(training_errors, a_batch_normalisation_without_momentum) {
  const auto options = torch::nn::BatchNorm1dOptions(16).momentum(std::nullopt);
  const error found = error_of_step(with_layer({"BatchNorm1d", [=] { return torch::nn::BatchNorm1d(options); }}));
  EXPECT_EQ(found.code, error_code::forward_failed);
  EXPECT_EQ(found.where, "stage 0, layer 2 (BatchNorm1d)");
  EXPECT_THAT(found.cause, HasSubstr("has no momentum"));
  EXPECT_THAT(found.fix, HasSubstr(".momentum(0.1)"));
}

struct counting_impl : torch::nn::Module {
  counting_impl() { calls = register_buffer("calls", at::zeros({1})); }
  at::Tensor forward(const at::Tensor& x) {
    calls += 1;
    return x * calls;
  }
  at::Tensor calls;
};
TORCH_MODULE_IMPL(counting, counting_impl);

TEST(training_errors, a_layer_that_writes_its_buffer) {
  const error found = error_of_step(with_layer({"Counting", [] { return counting(); }}));
  EXPECT_EQ(found.code, error_code::forward_failed);
  EXPECT_THAT(found.cause, HasSubstr("writes its own buffer \"2.calls\""));
}

TEST(training_errors, an_exception_names_the_layer) {
  const error found = error_of_step(with_layer(layer_spec::function(
      "Throwing", [](const at::Tensor&) -> at::Tensor { throw std::runtime_error("not today"); })));
  EXPECT_EQ(found.where, "stage 0, layer 2 (Throwing)");
  EXPECT_THAT(found.cause, HasSubstr("forward failed: not today"));
}

TEST(training_errors, a_forward_pass_that_failed_is_not_counted) {
  const auto is_failing = std::make_shared<bool>(true);
  std::vector<layer_spec> layers = with_layer({"BatchNorm1d", [] { return torch::nn::BatchNorm1d(16); }});
  layers.insert(layers.begin() + 3, layer_spec::function("Failing", [=](const at::Tensor& x) {
                  if (*is_failing) throw std::runtime_error("once");
                  return x;
                }));
  plain_pipeline trained = pipeline_of(layers, {}, {});
  EXPECT_FALSE(trained.step(row_batches("odd", {4, 3}), 0.1));
  *is_failing = false;
  must(trained.step(row_batches("odd", {4, 3}), 0.1));
  for (const named_tensor& each : trained.weights()) {
    if (each.name == "2.num_batches_tracked") {
      EXPECT_EQ(each.tensor.item<std::int64_t>(), 2);
    }
  }
}

TEST(training_errors, a_sparse_gradient_is_as_good_as_a_dense_one) {
  const auto layers_with = [](bool is_sparse) {
    std::vector<layer_spec> layers = gpt_layers(0, 1);
    layers[0] = layer_spec("Embedding", [is_sparse] {
      torch::nn::Embedding made(torch::nn::EmbeddingOptions(17, 16).sparse(is_sparse));
      fill_by_formula(made, "0.");
      return made;
    });
    return layers;
  };
  plain_pipeline sparse = pipeline_of(layers_with(true), {}, {});
  plain_pipeline dense = pipeline_of(layers_with(false), {}, {});
  EXPECT_EQ(get(sparse.step(token_batches("rows", {4}), 0.1)), get(dense.step(token_batches("rows", {4}), 0.1)));
  for (std::size_t at = 0; at < dense.weights().size(); ++at)
    EXPECT_TRUE(at::allclose(sparse.weights()[at].tensor, dense.weights()[at].tensor, 1e-6, 1e-8));
}

TEST(training_errors, a_backward_pass_that_fails_names_the_stage) {
  const error found = error_of_step(with_layer(layer_spec::function("Spoiling", [](const at::Tensor& x) {
    const at::Tensor made = x.exp();
    made.detach().add_(1);
    return made;
  })));
  EXPECT_EQ(found.code, error_code::forward_failed);
  EXPECT_EQ(found.where, "stage 0, layer 0 (ReLU) to layer 6 (Linear)");
  EXPECT_THAT(found.cause, HasSubstr("the backward pass failed"));
}

TEST(training_errors, running_statistics_that_are_tied_across_stages) {
  const auto make = [] { return torch::nn::BatchNorm1d(12); };
  const std::vector<layer_spec> layers = {tied_layer_spec("both", "BatchNorm1d", make), mlp_layers()[0],
                                          tied_layer_spec("both", "BatchNorm1d", make)};
  EXPECT_TRUE(make_layer_part(layers, 0, 3, 0));
  const auto part = make_layer_part(layers, 0, 2, 0);
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().code, error_code::topology_invalid);
  EXPECT_EQ(part.error().where, "layer 0 (BatchNorm1d)");
  EXPECT_THAT(part.error().cause, HasSubstr("layer 2 (BatchNorm1d), which is in another stage"));
}

TEST(training_errors, layers_that_are_tied_in_one_stage_are_trained_as_one) {
  const auto make = [] {
    torch::nn::Linear made(12, 12);
    fill_by_formula(made, "0.");
    return made;
  };
  const std::vector<layer_spec> layers = {tied_layer_spec("both", "Linear", make), mlp_layers()[0],
                                          tied_layer_spec("both", "Linear", make)};
  plain_pipeline trained = pipeline_of(layers, {}, {});
  EXPECT_EQ(trained.weights().size(), 2u);
  std::vector<plain_batch> batches = row_batches("tied", {4, 3});
  must(trained.step(batches, 0.1));
  const torch::nn::Linear alone = make();
  double rows = 0;
  std::vector<at::Tensor> sum;
  for (const plain_batch& each : batches) {
    const at::Tensor outputs = torch::nn::Linear(alone)->forward(torch::nn::Linear(alone)->forward(each.inputs).relu());
    const at::Tensor loss = at::cross_entropy_loss(outputs, each.labels, {}, at::Reduction::Sum);
    const auto made = torch::autograd::grad({loss}, {alone->weight, alone->bias});
    for (std::size_t at = 0; at < made.size(); ++at)
      at < sum.size() ? sum[at].add_(made[at]) : sum.emplace_back(made[at]);
    rows += static_cast<double>(each.labels.numel());
  }
  const state_dict after = trained.weights();
  EXPECT_TRUE(at::allclose(after[1].tensor, alone->weight - sum[0] * (0.1 / rows), 1e-6, 1e-7));
  EXPECT_TRUE(at::allclose(after[0].tensor, alone->bias - sum[1] * (0.1 / rows), 1e-6, 1e-7));
  for (const std::uint32_t interval : {1, 2}) {
    plain_pipeline again = pipeline_of(layers, {}, {.recompute_interval = interval});
    must(again.step(batches, 0.1));
    expect_equal(again.weights(), after);
  }
}

/// As layer_spec allows it: no torch::nn::Module.
struct plain_object {
  at::Tensor weight = at::ones({12}).requires_grad_();
  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const { return x * weight; }
  [[nodiscard]] std::vector<at::Tensor> parameters() const { return {weight}; }
  void eval() {}
};

TEST(training_errors, an_object_without_train) {
  const std::vector<layer_spec> layers = {{"Plain", [] { return std::make_shared<plain_object>(); }}};
  const auto part = make_layer_part(layers, 0, 1, 0);
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().where, "layer 0 (Plain)");
  EXPECT_THAT(part.error().cause, HasSubstr("no train()"));
}

TEST(training_errors, a_gradient_that_is_not_finite_names_parameter_and_micro_batch) {
  plain_pipeline trained = pipeline_of(mlp_layers(), {3}, {});
  std::vector<plain_batch> batches = row_batches("nan", {2, 2, 2});
  batches[1].inputs[0][3] = std::numeric_limits<float>::infinity();
  must(trained.passes(batches));
  step_vote vote;
  must(trained.stages().front()->finish(0, {}, {}, vote));
  ASSERT_TRUE(vote.not_finite);
  EXPECT_EQ(vote.not_finite->code, error_code::gradient_not_finite);
  EXPECT_THAT(to_string(*vote.not_finite), HasSubstr("1.weight"));
  EXPECT_THAT(to_string(*vote.not_finite), HasSubstr("micro-batch 1"));
}

}  // namespace
}  // namespace troupe::testing
