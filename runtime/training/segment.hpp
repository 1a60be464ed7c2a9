#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/training/running_statistics.hpp"
#include "runtime/training/trained_part.hpp"
#include "runtime/training/training_pass.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Layers [begin, end) of one micro-batch: what their backward pass needs.
struct segment_record {
  std::size_t begin = 0;
  std::size_t end = 0;
  /// Leaves of the graph.
  std::vector<at::Tensor> inputs = {};
  /// With their history; empty where the segment is computed again.
  std::vector<at::Tensor> outputs = {};
  /// The loss of the last segment of the last stage, with its history; undefined elsewhere, and where it is computed
  /// again.
  at::Tensor loss = {};
};

/// Runs segments of a part in training mode under autograd. Threads: one at a time.
class segment_runner {
 public:
  /// `place`: "stage 1". The part outlives this object.
  segment_runner(trained_part& part, std::string place);

  /// The outputs of the segment. `statistics`: gets what the buffers are told; null where a pass is computed again.
  /// E0602.
  [[nodiscard]] expected<std::vector<at::Tensor>> run(const segment_record& segment, training_pass& pass,
                                                      running_statistics* statistics);
  /// E0602 for what was thrown in the layers [begin, end).
  [[nodiscard]] tl::unexpected<error> failure(const std::exception& caught, std::size_t begin, std::size_t end,
                                              const char* pass, const std::vector<at::Tensor>& inputs) const;
  /// Call after each change of the buffers.
  void note_buffers();

 private:
  struct buffer_state {
    std::string name;
    at::Tensor tensor;
    bool is_counter = false;
    std::int64_t version = 0;
  };

  void read_counters(running_statistics* statistics);
  [[nodiscard]] expected<void> check_buffers() const;

  trained_part* part_;
  std::string place_;
  std::vector<buffer_state> buffers_;
  std::unordered_map<const c10::TensorImpl*, std::size_t> by_tensor_;
};

/// Tensors that autograd takes as the begin of a graph: copies by handle. Those with `gradients`, by position, require
/// them where they are of a floating type; none: no tensor does.
std::vector<at::Tensor> leaves_of(const std::vector<at::Tensor>& values, const std::vector<bool>& gradients = {});

}  // namespace troupe
