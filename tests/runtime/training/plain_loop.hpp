#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "tests/runtime/training/plain_pipeline.hpp"
#include "tests/support/formula_tensors.hpp"
#include <troupe/layer_spec.hpp>

namespace troupe::testing {

inline std::vector<plain_batch> picture_batches(std::int64_t channels, std::int64_t size, const std::string& name,
                                                const std::vector<std::int64_t>& rows) {
  std::vector<plain_batch> made;
  for (const std::int64_t each : rows) {
    const std::string own = name + "." + std::to_string(made.size());
    made.push_back({formula_uniform(own + ".x", {each, channels, size, size}), formula_below(own + ".y", {each}, 10)});
  }
  return made;
}

inline std::vector<plain_batch> token_batches(const std::string& name, const std::vector<std::int64_t>& rows) {
  std::vector<plain_batch> made;
  for (const std::int64_t each : rows) {
    const std::string own = name + "." + std::to_string(made.size());
    made.push_back({formula_below(own + ".x", {each, 8}, 17), formula_below(own + ".y", {each, 8}, 17)});
  }
  return made;
}

inline std::vector<plain_batch> row_batches(const std::string& name, const std::vector<std::int64_t>& rows) {
  std::vector<plain_batch> made;
  for (const std::int64_t each : rows) {
    const std::string own = name + "." + std::to_string(made.size());
    made.push_back({formula_uniform(own + ".x", {each, 12}), formula_below(own + ".y", {each}, 5)});
  }
  return made;
}

/// Training as a loop over LibTorch: one module after the other, cross-entropy, and w -= rate * g / n. Gradients are
/// added in the order of docs/decisions/0045.
class plain_loop {
 public:
  plain_loop(const std::vector<layer_spec>& specs, at::ScalarType type)
      : layers_(get(build_layers(specs))), type_(type) {
    for (std::size_t at = 0; at < layers_.size(); ++at) {
      if (layers_[at].cast) layers_[at].cast(type);
      for (const layer_tensor& each : layers_[at].tensors) {
        if (!each.is_buffer) parameters_.push_back(each.tensor);
        all_.push_back({std::to_string(at) + "." + each.name, each.tensor});
      }
    }
    set_training(true);
  }

  /// The mean loss, and the new weights in place.
  double step(const std::vector<plain_batch>& batches, double rate) {
    std::vector<std::pair<std::uint64_t, std::vector<at::Tensor>>> sums;  // by how many leaves they have
    double total = 0;
    std::int64_t rows = 0;
    for (const plain_batch& each : batches) {
      const at::Tensor loss = loss_of(each, at::Reduction::Sum);
      total += loss.item<double>();
      rows += each.labels.numel();
      sums.emplace_back(1, torch::autograd::grad({loss}, parameters_));
      while (sums.size() > 1 && sums.back().first == sums[sums.size() - 2].first) join(sums);
    }
    while (sums.size() > 1) join(sums);
    const at::NoGradGuard no_grad;
    for (std::size_t at = 0; at < parameters_.size(); ++at)
      update(parameters_[at], sums.front().second[at], 1.0 / static_cast<double>(rows), rate);
    return total / static_cast<double>(rows);
  }

  /// By name.
  std::pair<double, state_dict> mean_gradients(const plain_batch& batch) {
    return gradients_of(loss_of(batch, at::Reduction::Mean));
  }
  state_dict sum_gradients(const plain_batch& batch) { return gradients_of(loss_of(batch, at::Reduction::Sum)).second; }

  std::pair<double, state_dict> gradients_of(const at::Tensor& loss) {
    const std::vector<at::Tensor> gradients = torch::autograd::grad({loss}, parameters_);
    state_dict named;
    for (std::size_t at = 0; at < parameters_.size(); ++at) {
      for (const named_tensor& each : all_) {
        if (each.tensor.is_same(parameters_[at])) named.push_back({each.name, gradients[at]});
      }
    }
    std::ranges::sort(named, {}, &named_tensor::name);
    return {loss.item<double>(), std::move(named)};
  }

  at::Tensor evaluate(const at::Tensor& input) {
    const at::NoGradGuard no_grad;
    set_training(false);
    const at::Tensor made = run(input);
    set_training(true);
    return made;
  }

  void take(const state_dict& weights) {
    const at::NoGradGuard no_grad;
    for (named_tensor& each : all_) {
      for (const named_tensor& given : weights) {
        if (given.name == each.name) each.tensor.copy_(given.tensor);
      }
    }
  }

  /// In the order of another dict.
  [[nodiscard]] state_dict weights(const state_dict& order) const {
    state_dict made;
    for (const named_tensor& wanted : order) {
      for (const named_tensor& each : all_) {
        if (each.name == wanted.name) made.push_back({each.name, each.tensor.detach()});
      }
    }
    return made;
  }

 private:
  using node = std::pair<std::uint64_t, std::vector<at::Tensor>>;

  /// The gradient is scaled and rounded; rate times gradient and weight are added with one rounding.
  static void update(at::Tensor& weight, const at::Tensor& gradient, double scale, double rate) {
    const at::Tensor scaled = gradient.to(at::kDouble).mul(scale).to(gradient.scalar_type()).to(at::kDouble);
    const double rounded = weight.scalar_type() == at::kFloat ? static_cast<float>(rate) : rate;
    weight.copy_(weight.to(at::kDouble).sub(scaled.mul(rounded)));
  }

  static void join(std::vector<node>& sums) {
    node& lower = sums[sums.size() - 2];
    for (std::size_t at = 0; at < lower.second.size(); ++at) lower.second[at].add_(sums.back().second[at]);
    lower.first += sums.back().first;
    sums.pop_back();
  }

  void set_training(bool on) {
    for (const built_layer& each : layers_) {
      if (each.train) each.train(on);
    }
  }
  [[nodiscard]] at::Tensor run(const at::Tensor& input) const {
    at::Tensor value = input.is_floating_point() ? input.to(type_).clone() : input;
    for (const built_layer& each : layers_) value = each.forward(value);
    return value;
  }
  [[nodiscard]] at::Tensor loss_of(const plain_batch& batch, at::Reduction::Reduction reduction) const {
    const at::Tensor outputs = run(batch.inputs);
    return at::cross_entropy_loss(outputs.reshape({-1, outputs.size(-1)}), batch.labels.reshape({-1}), {}, reduction);
  }

  std::vector<built_layer> layers_;
  at::ScalarType type_;
  std::vector<at::Tensor> parameters_;
  state_dict all_;
};

}  // namespace troupe::testing
