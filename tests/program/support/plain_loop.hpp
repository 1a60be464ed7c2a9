#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include <ATen/Functions.h>
#include <torch/csrc/jit/serialization/import.h>

#include <troupe/data_set.hpp>

namespace troupe::testing {

/// The independent calculation: LibTorch alone, one micro-batch after another, nothing of Troupe but the data set's
/// reader.
struct plain_loop {
  torch::jit::Module model;

  explicit plain_loop(const std::filesystem::path& file) : model(torch::jit::load(file.string())) { model.eval(); }

  at::Tensor forward(const at::Tensor& inputs) {
    const c10::InferenceMode guard;
    return model.forward({inputs}).toTensor();
  }
};

inline std::vector<batch> batches_of(const data_set& data, std::uint64_t micro_batch, std::uint64_t samples) {
  std::vector<batch> batches;
  for (std::uint64_t begin = 0; begin < samples; begin += micro_batch) {
    auto block = data.read({begin, std::min(samples, begin + micro_batch)});
    batches.push_back({block->inputs, block->labels});
  }
  return batches;
}

/// Gives the batches one after another; counts how many were taken.
struct batch_list {
  std::vector<batch> batches;
  std::shared_ptr<std::size_t> taken = std::make_shared<std::size_t>(0);

  std::optional<batch> operator()() {
    if (*taken == batches.size()) return std::nullopt;
    return batches[(*taken)++];
  }
};

}  // namespace troupe::testing
