#pragma once

#include <optional>
#include <vector>

#include "bench_model.hpp"

namespace troupe::bench {

/// Layers of a model in a plain loop over LibTorch, without anything of a pipeline. All layers are the loop that
/// pipelines are compared with; some are a stage alone, with an input and a gradient that do not change: what a
/// pipeline would be that costs nothing.
class plain_stage {
 public:
  plain_stage(const bench_model& model, std::size_t begin, std::size_t end);

  /// One step of SGD over the next micro-batches. The mean loss; 0 where the last layers are missing.
  double step(std::uint64_t micro_batches);

 private:
  at::Tensor forward(at::Tensor x) const;

  std::vector<built_layer> layers_;
  std::vector<at::Tensor> inputs_;
  std::vector<at::Tensor> labels_;
  bool is_first_;
  /// By the outputs, where the last layers are missing.
  std::optional<at::Tensor> gradient_;
  std::vector<at::Tensor> parameters_;
  std::vector<at::Tensor> momenta_;
  std::size_t next_ = 0;
  bool is_begun_ = false;
};

}  // namespace troupe::bench
