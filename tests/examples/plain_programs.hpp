#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/jit/serialization/import.h>

#include <troupe/data_set.hpp>

namespace troupe::testing {

/// What a plain program counts: no Troupe but for the reader of the data set.
struct plain_counts {
  std::uint64_t samples = 0;
  std::uint64_t correct = 0;
  double nll_sum = 0;

  void add(const at::Tensor& scores, const at::Tensor& labels) {
    const at::Tensor rows = scores.contiguous();
    const std::int64_t classes = rows.size(1);
    double of_micro_batch = 0;
    for (std::int64_t row = 0; row < rows.size(0); ++row) {
      const float* values = rows.const_data_ptr<float>() + row * classes;
      std::int64_t best = 0;
      for (std::int64_t c = 1; c < classes; ++c) best = values[c] > values[best] ? c : best;
      const std::int64_t label = labels.const_data_ptr<std::int64_t>()[row];
      correct += best == label ? 1 : 0;
      of_micro_batch += -static_cast<double>(values[label]);
    }
    samples += static_cast<std::uint64_t>(rows.size(0));
    nll_sum += of_micro_batch;
  }
};

/// One thread, one micro-batch after another.
inline void for_each_micro_batch(const data_set& data, std::uint64_t micro_batch, std::uint64_t samples,
                                 const std::function<void(const at::Tensor&, const at::Tensor&)>& body) {
  const c10::InferenceMode guard;
  at::set_num_threads(1);
  for (std::uint64_t begin = 0; begin < samples; begin += micro_batch) {
    const auto block = data.read({begin, std::min(samples, begin + micro_batch)}).value();
    body(block.inputs.only(), block.labels.only());
  }
}

inline std::function<at::Tensor(const at::Tensor&)> lenet_alone(const std::string& data_dir) {
  torch::jit::Module model = torch::jit::load(data_dir + "/mnist/lenet.pt");
  model.eval();
  return [model](const at::Tensor& images) mutable { return model.forward({images}).toTensor(); };
}

/// The mean image of each class, written out once more: by loops, in double where the example uses float.
struct means_alone {
  std::vector<std::vector<double>> means;

  means_alone(const data_set& data, std::uint64_t samples) : means(data.classes()) {
    const auto block = data.read({0, samples}).value();
    const at::Tensor pixels = block.inputs.only().flatten(1).contiguous();
    std::vector<double> members(means.size(), 0);
    for (auto& each : means) each.assign(static_cast<std::size_t>(pixels.size(1)), 0.0);
    for (std::int64_t row = 0; row < pixels.size(0); ++row) {
      const auto label = static_cast<std::size_t>(block.labels.only().const_data_ptr<std::int64_t>()[row]);
      members[label] += 1;
      for (std::int64_t p = 0; p < pixels.size(1); ++p) {
        means[label][static_cast<std::size_t>(p)] +=
            static_cast<double>(pixels.const_data_ptr<float>()[row * pixels.size(1) + p]);
      }
    }
    for (std::size_t c = 0; c < means.size(); ++c) {
      for (double& each : means[c]) each /= members[c];
    }
  }

  /// Log-probabilities [N, classes], float32.
  [[nodiscard]] at::Tensor operator()(const at::Tensor& images) const {
    const at::Tensor pixels = images.flatten(1).contiguous();
    at::Tensor scores = at::empty({pixels.size(0), static_cast<std::int64_t>(means.size())}, at::kDouble);
    for (std::int64_t row = 0; row < pixels.size(0); ++row) {
      const float* values = pixels.const_data_ptr<float>() + row * pixels.size(1);
      for (std::size_t c = 0; c < means.size(); ++c) {
        double product = 0;
        double square = 0;
        for (std::size_t p = 0; p < means[c].size(); ++p) {
          product += static_cast<double>(values[p]) * means[c][p];
          square += means[c][p] * means[c][p];
        }
        scores.mutable_data_ptr<double>()[row * scores.size(1) + static_cast<std::int64_t>(c)] = product - square / 2;
      }
    }
    return at::log_softmax(scores, 1).to(at::kFloat);
  }
};

}  // namespace troupe::testing
