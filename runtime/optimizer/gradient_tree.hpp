#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include "runtime/optimizer/parameter_blocks.hpp"
#include "runtime/optimizer/parameter_layout.hpp"
#include <troupe/ids.hpp>

namespace troupe {

/// The sum of the gradients of micro-batches in the order of docs/decisions/0045: the leaves of a binary tree, each
/// node the sum of its lower and its upper one, and missing leaves left out. So the bits depend on the leaves that are
/// there, and not on the tree's height. Keeps at most as many partial sums as the tree has levels, each of
/// sum_bytes(): one for each of the layout's sums().
///
/// Threads: one at a time; large tensors use the caller's team.
class gradient_tree {
 public:
  /// Where a sum first had infinity or NaN.
  struct odd_sum {
    std::size_t sum = 0;  ///< its position in sums()
    micro_batch_id id;
  };

  /// `layout` outlives this object.
  explicit gradient_tree(const parameter_layout& layout) : layout_(&layout), blocks_(blocks_of(layout.sums())) {}

  /// See trained_parameters::add_gradient(). Leaves ascend.
  void add(std::uint64_t leaf, micro_batch_id id, std::span<const at::Tensor> gradients);
  /// The sums of all, laid out as the layout has them (a tensor of bytes); undefined where nothing was added. Its
  /// memory is used again after clear().
  [[nodiscard]] const at::Tensor& sum();
  /// The same, for others to keep: it is never written to again.
  [[nodiscard]] at::Tensor give();
  [[nodiscard]] const std::optional<odd_sum>& not_finite() const noexcept { return not_finite_; }
  void clear() noexcept;

 private:
  struct node {
    std::uint64_t leaf = 0;  ///< the last one in it
    at::Tensor sum;
  };

  [[nodiscard]] at::Tensor new_buffer();
  /// Adds the last partial sum to the one before it.
  void join(micro_batch_id id);
  void note(std::size_t sum, micro_batch_id id);

  const parameter_layout* layout_;
  std::vector<parameter_block> blocks_;
  std::vector<node> nodes_;
  std::vector<at::Tensor> unused_;
  at::Tensor finished_;
  bool is_given_ = false;
  micro_batch_id last_ = {};
  std::optional<odd_sum> not_finite_;
};

}  // namespace troupe
