#include "runtime/optimizer/gradient_tree.hpp"

#include <atomic>
#include <bit>

#include <ATen/Functions.h>

#include "messages/check.hpp"
#include "runtime/optimizer/parameter_blocks.hpp"

namespace troupe {
namespace {

constexpr std::size_t none = ~std::size_t{0};

/// The lowest of several numbers, which come from several threads.
class lowest_number {
 public:
  void take(std::size_t number) {
    std::size_t known = lowest_.load(std::memory_order_relaxed);
    while (number < known && !lowest_.compare_exchange_weak(known, number, std::memory_order_relaxed)) {
    }
  }
  [[nodiscard]] std::size_t value() const { return lowest_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> lowest_ = none;
};

/// to = from, or to = to + from. The first of the sums with a result that is not finite.
std::size_t combine(const std::vector<stored_tensor>& sums, const std::vector<parameter_block>& blocks, std::byte* to,
                    const std::vector<const std::byte*>& from, bool adds) {
  lowest_number odd;
  each_block(blocks, [&](std::size_t index) {
    const parameter_block& block = blocks[index];
    const stored_tensor& parameter = sums[block.parameter];
    const std::byte* const more = from[block.parameter];
    const std::uint64_t within = block.offset - parameter.offset;
    const bool is_finite = with_kernels(parameter.type, [&]<class Number>(const update_kernels<Number>& kernels) {
      auto* const sum = reinterpret_cast<Number*>(to + block.offset);
      if (more == nullptr) {
        if (!adds) std::fill_n(sum, block.elements, Number{0});
        return true;
      }
      const auto* const numbers = reinterpret_cast<const Number*>(more + within);
      return adds ? kernels.add(sum, numbers, block.elements) : kernels.copy(sum, numbers, block.elements);
    });
    if (!is_finite) odd.take(block.parameter);
  });
  return odd.value();
}

std::byte* bytes_in(const at::Tensor& buffer) {
  return static_cast<std::byte*>(buffer.mutable_data_ptr());
}

/// The height of the lowest node that has both leaves below it.
int common_level(std::uint64_t one, std::uint64_t other) {
  return static_cast<int>(std::bit_width(one ^ other));
}

/// Whether the lowest node over two leaves has this one below it, too.
bool has_below(std::uint64_t leaf, std::uint64_t one, std::uint64_t other) {
  const int level = common_level(one, other);
  return level >= 64 || (leaf >> level) == (one >> level);
}

}  // namespace

void gradient_tree::add(std::uint64_t leaf, micro_batch_id id, std::span<const at::Tensor> gradients) {
  TROUPE_CHECK(gradients.size() == layout_->sums().size(), "there is a gradient for each sum");
  TROUPE_CHECK(!finished_.defined(), "a sum that was taken grows no more");
  TROUPE_CHECK(nodes_.empty() || nodes_.back().leaf < leaf, "the leaves of a step ascend");
  std::vector<at::Tensor> kept;
  std::vector<const std::byte*> from;
  for (std::size_t index = 0; index < gradients.size(); ++index) {
    const at::Tensor& each = gradients[index];
    from.push_back(nullptr);
    if (!each.defined()) continue;
    const stored_tensor& parameter = layout_->sums()[index];
    TROUPE_CHECK(each.sizes() == parameter.sizes && each.scalar_type() == parameter.type && each.is_cpu(),
                 "a gradient has shape and type of its parameter");
    kept.push_back(each.contiguous());
    from.back() = static_cast<const std::byte*>(kept.back().const_data_ptr());
  }
  while (nodes_.size() > 1 && !has_below(leaf, nodes_[nodes_.size() - 2].leaf, nodes_.back().leaf)) join(last_);
  last_ = id;
  // An upper neighbour is added at once: it needs no memory of its own.
  const bool is_upper = !nodes_.empty() && common_level(nodes_.back().leaf, leaf) == 1;
  if (!is_upper) nodes_.push_back({.leaf = leaf, .sum = new_buffer()});
  nodes_.back().leaf = leaf;
  note(combine(layout_->sums(), blocks_, bytes_in(nodes_.back().sum), from, is_upper), id);
  while (nodes_.size() > 1 && !has_below(leaf + 1, nodes_[nodes_.size() - 2].leaf, leaf)) join(id);
}

const at::Tensor& gradient_tree::sum() {
  if (finished_.defined() || nodes_.empty()) return finished_;
  while (nodes_.size() > 1) join(last_);
  finished_ = std::move(nodes_.back().sum);
  nodes_.clear();
  return finished_;
}

at::Tensor gradient_tree::give() {
  is_given_ = true;
  return sum();
}

void gradient_tree::clear() noexcept {
  for (node& each : nodes_) unused_.push_back(std::move(each.sum));
  nodes_.clear();
  if (finished_.defined() && !is_given_) unused_.push_back(std::move(finished_));
  finished_.reset();
  is_given_ = false;
  not_finite_.reset();
}

at::Tensor gradient_tree::new_buffer() {
  if (unused_.empty()) {
    // the bytes between tensors are sent and hashed, too
    return at::zeros({static_cast<std::int64_t>(layout_->sum_bytes())}, at::kByte);
  }
  at::Tensor made = std::move(unused_.back());
  unused_.pop_back();
  return made;
}

void gradient_tree::join(micro_batch_id id) {
  node upper = std::move(nodes_.back());
  nodes_.pop_back();
  std::vector<const std::byte*> from;
  for (const stored_tensor& each : layout_->sums()) from.push_back(bytes_in(upper.sum) + each.offset);
  note(combine(layout_->sums(), blocks_, bytes_in(nodes_.back().sum), from, true), id);
  nodes_.back().leaf = upper.leaf;
  unused_.push_back(std::move(upper.sum));
}

void gradient_tree::note(std::size_t sum, micro_batch_id id) {
  if (sum != none && !not_finite_) not_finite_ = odd_sum{.sum = sum, .id = id};
}

}  // namespace troupe
