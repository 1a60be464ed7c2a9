#include "tests/support/plain_training.hpp"

#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/linear.h>

#include "runtime/optimizer/trained_parameters.hpp"
#include "runtime/step/add_votes.hpp"
#include "tests/support/formula_tensors.hpp"

namespace troupe {
namespace {

using testing::formula_uniform;
using testing::plain_sample_batch;

/// More than one block of 65,536 elements.
torch::nn::Sequential model() {
  torch::nn::Sequential made(torch::nn::Linear(700, 130), torch::nn::Tanh(), torch::nn::Linear(130, 4));
  const at::NoGradGuard no_grad;
  for (const auto& each : made->named_parameters()) {
    at::Tensor(each.value()).copy_(testing::formula_weight(each.key(), each.value().sizes()));
  }
  return made;
}

std::vector<plain_sample_batch> batches(int step) {
  std::vector<plain_sample_batch> made;
  for (const std::int64_t rows : {5, 5, 5, 5, 2}) {
    const std::string name = std::to_string(step) + "/" + std::to_string(made.size());
    made.push_back({formula_uniform(name, {rows, 700}), testing::formula_below(name + "y", {rows}, 4)});
  }
  return made;
}

const std::vector<optimizer_options> optimizers = {
    {},
    {.weight_decay = 0.01, .momentum = 0.9, .nesterov = true},
    {.kind = optimizer_kind::adam, .amsgrad = true},
    {.kind = optimizer_kind::adamw, .weight_decay = 0.05},
};

/// A step of `model` with its weights in `parameters`.
double step_of(torch::nn::Sequential& model, trained_parameters& parameters, const std::vector<plain_sample_batch>& all,
               double norm_max) {
  std::vector<at::Tensor> weights = model->parameters();
  for (std::size_t each = 0; each < weights.size(); ++each) weights[each].set_data(parameters.weight(each));
  step_vote vote{.address = {}};
  const call_number call = parameters.step();
  double loss_sum = 0;
  for (std::size_t leaf = 0; leaf < all.size(); ++leaf) {
    const auto summed = torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum);
    const at::Tensor loss =
        torch::nn::functional::cross_entropy(model->forward(all[leaf].inputs), all[leaf].labels, summed);
    parameters.add_gradient(leaf, {.call = call, .index = leaf}, torch::autograd::grad({loss}, weights));
    vote.weight += static_cast<double>(all[leaf].labels.numel());
    loss_sum += loss.item<double>();
  }
  EXPECT_TRUE(parameters.finish(call, {}, {}, {}, vote));
  const vote_sums sums = add_votes(call, std::span(&vote, 1)).value();
  const auto limit = norm_max > 0 ? std::optional(norm_max) : std::nullopt;
  EXPECT_TRUE(parameters.apply({.call = call,
                                .step = call,
                                .gradient_scale = clip_factor(sums.norm, limit) / sums.weight,
                                .learning_rate = 0.05}));
  return loss_sum / sums.weight;
}

TEST(plain_training, trained_parameters_have_its_bits) {
  at::set_num_threads(1);
  for (const optimizer_options& options : optimizers) {
    for (const double norm_max : {0.0, 0.3}) {
      testing::plain_kernels plain(model(), options);
      torch::nn::Sequential own = model();
      named_tensors values;
      for (const auto& each : own->named_parameters()) values.set(each.key(), each.value().detach());
      const auto parameters =
          trained_parameters::create(parameter_layout::make(values, {}, options).value(), values, {}).value();
      for (int step = 0; step < 4; ++step) {
        const double loss = step_of(own, *parameters, batches(step), norm_max);
        EXPECT_EQ(loss, plain.step(batches(step), 0.05, norm_max));
      }
      const std::vector<at::Tensor> expected = plain.model()->parameters();
      for (std::size_t each = 0; each < expected.size(); ++each) {
        EXPECT_TRUE(at::equal(parameters->weight(each), expected[each]));
        std::size_t moment = 0;
        for (const std::string_view name : moment_names(options)) {
          EXPECT_TRUE(at::equal(parameters->moment(moment++, each), plain.moments(std::string(name))[each])) << name;
        }
      }
    }
  }
}

TEST(plain_training, kernels_and_libtorch_agree) {
  at::set_num_threads(1);
  for (const optimizer_options& options : optimizers) {
    for (const double norm_max : {0.0, 0.3}) {
      testing::plain_kernels kernels(model(), options);
      testing::plain_torch torch(model(), options);
      for (int step = 0; step < 4; ++step) {
        const double loss = kernels.step(batches(step), 0.01, norm_max);
        EXPECT_NEAR(loss, torch.step(batches(step), 0.01, norm_max), 1e-5 * loss);
      }
      for (std::size_t each = 0; each < kernels.model()->parameters().size(); ++each) {
        const at::Tensor one = kernels.model()->parameters()[each];
        const at::Tensor other = torch.model()->parameters()[each];
        const double scale = other.abs().max().item<double>();
        EXPECT_LE((one - other).abs().max().item<double>(), 1e-5 * scale) << "parameter " << each;
        for (const std::string_view name : moment_names(options)) {
          const at::Tensor moment = kernels.moments(std::string(name))[each];
          EXPECT_TRUE(at::allclose(moment, torch.moments(std::string(name))[each], 1e-4,
                                   1e-5 * moment.abs().max().item<double>()));
        }
      }
    }
  }
}

}  // namespace
}  // namespace troupe
