#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <torch/csrc/autograd/autograd.h>
#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include "runtime/kernel/update_kernels.hpp"
#include "runtime/optimizer/optimizer_options.hpp"

namespace troupe::testing {

/// The samples of one micro-batch and their classes.
struct plain_sample_batch {
  at::Tensor inputs;
  at::Tensor labels;
};

/// The gradients of the whole step, undivided, by parameter; and the sum of the losses.
struct plain_gradients {
  std::vector<at::Tensor> sums;
  double loss_sum = 0;
  double weight = 0;
};

/// Training of a sequence of torch::nn modules in a plain loop, in one thread and without anything of a pipeline: what
/// trained pipelines are compared with. Gradients are those of the cross-entropy summed over samples; they are added in
/// the order of docs/decisions/0045, which is written out here a second time, and divided once.
class plain_training {
 public:
  explicit plain_training(torch::nn::Sequential model) : model_(std::move(model)) { model_->train(); }
  virtual ~plain_training() = default;

  /// One step; gives the mean loss. `norm_max`: gradients are clipped to it as by clip_grad_norm_; 0: they are not.
  double step(const std::vector<plain_sample_batch>& batches, double learning_rate, double norm_max = 0) {
    const plain_gradients all = gradients_of(batches);
    double scale = 1 / all.weight;
    if (norm_max > 0) {
      double squares = 0;
      for (const at::Tensor& each : all.sums) squares += squares_of(each.contiguous());
      const double norm = std::sqrt(squares) / all.weight;
      scale = std::min(1.0, norm_max / (norm + 1e-6)) / all.weight;
    }
    update(all.sums, scale, learning_rate);
    ++steps_;
    return all.loss_sum / all.weight;
  }

  [[nodiscard]] torch::nn::Sequential& model() { return model_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  /// By PyTorch's name of the moment, in the order of the parameters.
  [[nodiscard]] virtual std::vector<at::Tensor> moments(const std::string& name) = 0;

 protected:
  virtual void update(const std::vector<at::Tensor>& sums, double scale, double learning_rate) = 0;

  torch::nn::Sequential model_;

 private:
  /// The node of the tree over `count` leaves from `first` on.
  std::vector<at::Tensor> node(const std::vector<std::vector<at::Tensor>>& leaves, std::size_t first,
                               std::size_t count) {
    if (count == 1) return leaves[first];
    std::vector<at::Tensor> lower = node(leaves, first, count / 2);
    if (first + count / 2 >= leaves.size()) return lower;
    const std::vector<at::Tensor> upper = node(leaves, first + count / 2, count / 2);
    for (std::size_t each = 0; each < lower.size(); ++each) lower[each] = lower[each].add(upper[each]);
    return lower;
  }

  /// In blocks of 65,536 elements, whose sums are the kernel's.
  static double squares_of(const at::Tensor& gradient) {
    double squares = 0;
    for (std::int64_t begin = 0; begin < gradient.numel(); begin += 65536) {
      const std::int64_t count = std::min<std::int64_t>(65536, gradient.numel() - begin);
      squares +=
          update_kernels_of<float>(vector_width::portable).squares(gradient.const_data_ptr<float>() + begin, count);
    }
    return squares;
  }

  plain_gradients gradients_of(const std::vector<plain_sample_batch>& batches) {
    plain_gradients all;
    std::vector<std::vector<at::Tensor>> leaves;
    for (const plain_sample_batch& batch : batches) {
      namespace functional = torch::nn::functional;
      const auto summed = functional::CrossEntropyFuncOptions().reduction(torch::kSum);
      const at::Tensor loss = functional::cross_entropy(model_->forward(batch.inputs), batch.labels, summed);
      leaves.push_back(torch::autograd::grad({loss}, model_->parameters()));
      all.loss_sum += loss.item<double>();
      all.weight += static_cast<double>(batch.labels.numel());
    }
    std::size_t width = 1;
    while (width < leaves.size()) width *= 2;
    all.sums = node(leaves, 0, width);
    return all;
  }

  std::uint64_t steps_ = 0;
};

/// With the kernels of the product, in the simplest way: the bits are to be those of a trained pipeline.
class plain_kernels final : public plain_training {
 public:
  plain_kernels(torch::nn::Sequential model, const optimizer_options& options)
      : plain_training(std::move(model)), options_(options) {
    for (const std::string_view name : moment_names(options)) {
      for (const at::Tensor& each : model_->parameters()) moments_[std::string(name)].push_back(at::zeros_like(each));
    }
  }

  [[nodiscard]] std::vector<at::Tensor> moments(const std::string& name) override { return moments_.at(name); }

 private:
  void update(const std::vector<at::Tensor>& sums, double scale, double learning_rate) override {
    const at::NoGradGuard no_grad;
    const std::vector<at::Tensor> parameters = model_->parameters();
    for (std::size_t index = 0; index < parameters.size(); ++index) {
      const at::Tensor gradient = sums[index].contiguous();
      const at::Tensor before = parameters[index].detach().clone();
      update_arrays<float> arrays{.gradient = gradient.const_data_ptr<float>(),
                                  .weights = before.const_data_ptr<float>(),
                                  .new_weights = parameters[index].mutable_data_ptr<float>()};
      std::vector<at::Tensor> kept;
      for (const std::string_view name : moment_names(options_)) {
        const at::Tensor& moment = moments_.at(std::string(name))[index];
        arrays.new_moments[kept.size()] = moment.mutable_data_ptr<float>();
        kept.push_back(moment.clone());
        arrays.moments[kept.size() - 1] = kept.back().const_data_ptr<float>();
      }
      apply(arrays, gradient.numel(), scale, learning_rate);
    }
  }

  void apply(const update_arrays<float>& arrays, std::int64_t count, double scale, double learning_rate) {
    const update_kernels<float>& kernels = update_kernels_of<float>(vector_width::portable);
    if (options_.kind == optimizer_kind::sgd) {
      kernels.sgd({.gradient_scale = scale,
                   .learning_rate = learning_rate,
                   .momentum = options_.momentum,
                   .dampening = options_.dampening,
                   .weight_decay = options_.weight_decay,
                   .nesterov = options_.nesterov,
                   .is_first = steps() == 0},
                  arrays, count);
      return;
    }
    kernels.adam({.gradient_scale = scale,
                  .learning_rate = learning_rate,
                  .beta_1 = options_.beta_1,
                  .beta_2 = options_.beta_2,
                  .eps = options_.eps,
                  .weight_decay = options_.weight_decay,
                  .is_decoupled = options_.kind == optimizer_kind::adamw,
                  .number = steps() + 1},
                 arrays, count);
  }

  optimizer_options options_;
  std::map<std::string, std::vector<at::Tensor>> moments_;
};

/// With the optimizers of LibTorch, whose Adam differs from Python's in the last place from the second step on.
class plain_torch final : public plain_training {
 public:
  plain_torch(torch::nn::Sequential model, const optimizer_options& options)
      : plain_training(std::move(model)), optimizer_(made(model_->parameters(), options)) {}

  [[nodiscard]] std::vector<at::Tensor> moments(const std::string& name) override {
    std::vector<at::Tensor> all;
    for (const at::Tensor& each : model_->parameters()) all.push_back(moment(name, each));
    return all;
  }

 private:
  static std::unique_ptr<torch::optim::Optimizer> made(const std::vector<at::Tensor>& parameters,
                                                       const optimizer_options& from) {
    const std::tuple<double, double> betas(from.beta_1, from.beta_2);
    switch (from.kind) {
      case optimizer_kind::sgd:
        return std::make_unique<torch::optim::SGD>(parameters, torch::optim::SGDOptions(0)
                                                                   .momentum(from.momentum)
                                                                   .dampening(from.dampening)
                                                                   .weight_decay(from.weight_decay)
                                                                   .nesterov(from.nesterov));
      case optimizer_kind::adam:
        return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(0)
                                                                    .betas(betas)
                                                                    .eps(from.eps)
                                                                    .weight_decay(from.weight_decay)
                                                                    .amsgrad(from.amsgrad));
      case optimizer_kind::adamw:
        return std::make_unique<torch::optim::AdamW>(parameters, torch::optim::AdamWOptions(0)
                                                                     .betas(betas)
                                                                     .eps(from.eps)
                                                                     .weight_decay(from.weight_decay)
                                                                     .amsgrad(from.amsgrad));
    }
    return nullptr;
  }

  void update(const std::vector<at::Tensor>& sums, double scale, double learning_rate) override {
    const std::vector<at::Tensor> parameters = model_->parameters();
    for (std::size_t index = 0; index < parameters.size(); ++index) {
      at::Tensor parameter = parameters[index];
      parameter.mutable_grad() = sums[index].mul(scale);
    }
    for (auto& group : optimizer_->param_groups()) group.options().set_lr(learning_rate);
    optimizer_->step();
  }

  at::Tensor moment(const std::string& name, const at::Tensor& parameter) {
    torch::optim::OptimizerParamState& state = *optimizer_->state().at(parameter.unsafeGetTensorImpl());
    if (auto* const sgd = dynamic_cast<torch::optim::SGDParamState*>(&state)) return sgd->momentum_buffer();
    const auto of = [&](auto& adam) {
      return name == "exp_avg" ? adam.exp_avg() : name == "exp_avg_sq" ? adam.exp_avg_sq() : adam.max_exp_avg_sq();
    };
    if (auto* const adam = dynamic_cast<torch::optim::AdamParamState*>(&state)) return of(*adam);
    return of(dynamic_cast<torch::optim::AdamWParamState&>(state));
  }

  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

}  // namespace troupe::testing
