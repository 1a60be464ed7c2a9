#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <troupe/named_tensors.hpp>
#include <troupe/pipeline_module.hpp>

namespace troupe::bench {

/// What all contestants train, from the same weights and with the same batches.
struct bench_model {
  std::string name;
  std::vector<layer_spec> layers;
  /// Two stages: the first layer of each, and the end.
  std::vector<std::size_t> boundaries;
  /// Micro-batches in their order, all of one size; they are used again from the beginning.
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> labels;

  [[nodiscard]] std::int64_t micro_batch() const { return inputs.front().size(0); }
};

constexpr std::uint64_t bench_seed = 7;
constexpr double bench_learning_rate = 0.01;
constexpr double bench_momentum = 0.9;

/// "lenet" (images of MNIST), "resnet20" (images of CIFAR-10), "mlp256" (eight layers, random numbers).
const std::vector<std::string>& bench_model_names();
bench_model make_bench_model(const std::string& name);

/// Builds layers [begin, end) as an engine does, so that all have the same initial weights.
std::vector<built_layer> built_as_in_engine(const bench_model& model, std::size_t begin, std::size_t end);

}  // namespace troupe::bench
