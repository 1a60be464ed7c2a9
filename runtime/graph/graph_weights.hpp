#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace troupe {

/// What a weight is in the model.
enum class weight_kind : std::uint8_t { trainable, frozen, buffer };

struct graph_weight {
  std::string name;  ///< in the model's state dict: "layer1.0.conv1.weight"
  at::Tensor tensor;
  weight_kind kind = weight_kind::trainable;
};

/// What a state dict may have beside the weights of an architecture, which has no use for it: buffers of old files,
/// heads of another task.
struct names_left_out {
  std::vector<std::string> ends = {};     ///< of names: "embeddings.position_ids"
  std::vector<std::string> modules = {};  ///< with their dot: "cls."

  [[nodiscard]] bool has(const std::string& name) const;
};

/// Parameters and buffers of a model by the names of its state dict, in its order: what loads, casts, saves and counts
/// weights goes by this table. A weight with two names (tied weights) has two entries with one tensor. Entries that no
/// operator reads, such as a batch normalisation's num_batches_tracked, are there as well.
class graph_weights {
 public:
  void add(std::string name, at::Tensor tensor, weight_kind kind);

  /// The first entry of the tensor at this address; null for a constant that is no weight.
  [[nodiscard]] const graph_weight* find(const c10::TensorImpl* tensor) const;
  [[nodiscard]] const graph_weight* find(const at::Tensor& tensor) const { return find(tensor.unsafeGetTensorImpl()); }
  [[nodiscard]] const graph_weight* find(const std::string& name) const;

  void leave_out(names_left_out names) { left_out_ = std::move(names); }
  /// Names that are neither missing nor unexpected; empty but for architectures that are built in.
  [[nodiscard]] const names_left_out& left_out() const noexcept { return left_out_; }

  [[nodiscard]] auto begin() const noexcept { return all_.begin(); }
  [[nodiscard]] auto end() const noexcept { return all_.end(); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

 private:
  std::vector<graph_weight> all_;
  names_left_out left_out_;
  std::unordered_map<const c10::TensorImpl*, std::size_t> by_tensor_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace troupe
