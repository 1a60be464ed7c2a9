#include "plain_stage.hpp"

#include <torch/torch.h>

namespace troupe::bench {

plain_stage::plain_stage(const bench_model& model, std::size_t begin, std::size_t end)
    : layers_(built_as_in_engine(model, 0, end)), labels_(model.labels), is_first_(begin == 0) {
  const at::NoGradGuard no_grad;
  for (at::Tensor x : model.inputs) {
    for (std::size_t layer = 0; layer < begin; ++layer) x = layers_[layer].forward(x);
    inputs_.push_back(std::move(x));
  }
  layers_.erase(layers_.begin(), layers_.begin() + static_cast<std::ptrdiff_t>(begin));
  for (const built_layer& each : layers_) {
    for (const layer_tensor& tensor : each.tensors) {
      if (!tensor.is_buffer) parameters_.push_back(tensor.tensor);
    }
  }
  for (const at::Tensor& each : parameters_) momenta_.push_back(at::zeros_like(each));
  if (end < model.layers.size()) gradient_ = at::full_like(forward(inputs_.front()), 1e-6);
}

at::Tensor plain_stage::forward(at::Tensor x) const {
  for (const built_layer& each : layers_) x = each.forward(x);
  return x;
}

double plain_stage::step(std::uint64_t micro_batches) {
  double loss_sum = 0;
  double samples = 0;
  for (std::uint64_t index = 0; index < micro_batches; ++index) {
    const at::Tensor input = is_first_ ? inputs_[next_] : inputs_[next_].detach().requires_grad_();
    at::Tensor made = forward(input);
    if (gradient_) {
      made.backward(*gradient_);
    } else {
      const auto summed = torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum);
      const at::Tensor loss = torch::nn::functional::cross_entropy(made, labels_[next_], summed);
      loss.backward();
      loss_sum += loss.item<double>();
    }
    samples += static_cast<double>(input.size(0));
    next_ = (next_ + 1) % inputs_.size();
  }
  const at::NoGradGuard no_grad;
  for (std::size_t at = 0; at < parameters_.size(); ++at) {
    const at::Tensor gradient = parameters_[at].grad().div_(samples);
    momenta_[at].mul_(is_begun_ ? bench_momentum : 0).add_(gradient);
    parameters_[at].add_(momenta_[at], -bench_learning_rate);
    parameters_[at].mutable_grad().zero_();
  }
  is_begun_ = true;
  return loss_sum / samples;
}

}  // namespace troupe::bench
