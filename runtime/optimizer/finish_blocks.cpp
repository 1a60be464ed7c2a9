#include "runtime/optimizer/finish_blocks.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "runtime/kernel/state_hash.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

/// A block of the sum of the replicas, and of the places.
template <class Number>
class block_sum {
 public:
  /// `within`: bytes of the parameter before the block.
  block_sum(const update_kernels<Number>& kernels, const parameter_block& block, std::uint64_t within)
      : kernels_(kernels), block_(block), within_(within) {}

  void write(const std::vector<place_sums>& places, Number* to) {
    bool has_some = false;
    for (const place_sums& each : places) {
      sums_ = each;
      const std::size_t all = std::bit_ceil(each.size());
      if (!has_some) {
        has_some = write(0, all, to);
      } else if (const auto more = new_numbers(); write(0, all, more.get())) {
        add(to, more.get());
      }
    }
    if (!has_some) std::fill_n(to, block_.elements, Number{0});
  }
  [[nodiscard]] bool is_finite() const { return is_finite_; }

 private:
  /// The node over the replicas [first, first + count), where `count` is a power of two. false where all are missing.
  bool write(std::size_t first, std::size_t count, Number* to) {
    if (count == 1) {
      const Number* const from = piece(first);
      if (from != nullptr) is_finite_ = kernels_.copy(to, from, block_.elements) && is_finite_;
      return from != nullptr;
    }
    const std::size_t half = count / 2;
    const bool has_lower = write(first, half, to);
    if (!has_lower) return write(first + half, half, to);
    if (half == 1) {
      if (const Number* const more = piece(first + 1)) add(to, more);
      return true;
    }
    const auto upper = new_numbers();
    if (write(first + half, half, upper.get())) add(to, upper.get());
    return true;
  }
  std::unique_ptr<Number[]> new_numbers() const {
    return std::make_unique_for_overwrite<Number[]>(static_cast<std::size_t>(block_.elements));
  }
  const Number* piece(std::size_t replica) const {
    if (replica >= sums_.size() || sums_[replica] == nullptr) return nullptr;
    return reinterpret_cast<const Number*>(sums_[replica] + within_);
  }
  void add(Number* to, const Number* more) { is_finite_ = kernels_.add(to, more, block_.elements) && is_finite_; }

  const update_kernels<Number>& kernels_;
  const parameter_block& block_;
  std::uint64_t within_;
  std::span<const std::byte* const> sums_ = {};
  bool is_finite_ = true;
};

struct finished_block {
  double squares = 0;
  std::uint64_t hash = 0;
  bool is_finite = true;
};

}  // namespace

expected<const std::byte*> sum_in(const payload_ptr& sum, const parameter_layout& layout) {
  if (sum == nullptr) return nullptr;
  const std::vector<at::Tensor>& tensors = as_tensors(sum).tensors();
  if (tensors.size() != 1 || tensors[0].scalar_type() != at::kByte || !tensors[0].is_contiguous() ||
      !tensors[0].is_cpu() || static_cast<std::uint64_t>(tensors[0].numel()) != layout.sum_bytes()) {
    return fail(error_code::wire_malformed, "sum of the gradients of another replica",
                "it is not laid out as that of this one", "Check that all processes run the same version of Troupe");
  }
  return static_cast<const std::byte*>(tensors[0].const_data_ptr());
}

parameter_sums own_sums(const parameter_layout& layout, std::span<const std::byte* const> replicas) {
  const auto sums_at = [&](std::size_t sum) {
    place_sums made;
    for (const std::byte* each : replicas) made.push_back(each == nullptr ? each : each + layout.sums()[sum].offset);
    return made;
  };
  parameter_sums made;
  for (std::size_t parameter = 0; parameter < layout.parameters().size(); ++parameter)
    made.push_back({sums_at(parameter)});
  for (std::size_t at = 0; at < layout.ties().size(); ++at) {
    const tied_parameter& tie = layout.ties()[at];
    made[tie.parameter].assign(tie.places.size(), {});
    for (std::size_t place = tie.begin; place < tie.end; ++place)
      made[tie.parameter][place] = sums_at(layout.sum_at(at, place));
  }
  return made;
}

finished_sums finish_blocks(const parameter_layout& layout, const std::vector<parameter_block>& blocks,
                            const parameter_sums& sums, std::byte* gradient, const std::byte* weights) {
  std::vector<finished_block> done(blocks.size());
  each_block(blocks, [&](std::size_t index) {
    const parameter_block& block = blocks[index];
    with_kernels(layout.parameters()[block.parameter].type, [&]<class Number>(const update_kernels<Number>& kernels) {
      auto* const to = reinterpret_cast<Number*>(gradient + block.offset);
      block_sum<Number> sum(kernels, block, block.offset - layout.parameters()[block.parameter].offset);
      sum.write(sums[block.parameter], to);
      const std::size_t bytes = static_cast<std::size_t>(block.elements) * sizeof(Number);
      done[index] = {.squares = kernels.squares(to, block.elements),
                     .hash = state_hash({weights + block.offset, bytes}, state_hash({gradient + block.offset, bytes})),
                     .is_finite = sum.is_finite()};
    });
  });
  finished_sums made{.squared_norms = std::vector<double>(layout.parameters().size(), 0.0)};
  std::vector<bool> is_owned(layout.parameters().size(), true);
  for (const tied_parameter& each : layout.ties()) is_owned[each.parameter] = each.is_owned();
  for (std::size_t index = 0; index < blocks.size(); ++index) {
    const std::size_t parameter = blocks[index].parameter;
    const double squares = done[index].squares;
    made.squared_norms[parameter] += is_owned[parameter] || !std::isfinite(squares) ? squares : 0;
    if (!done[index].is_finite && !made.not_finite && is_owned[parameter]) made.not_finite = parameter;
  }
  std::vector<std::uint64_t> hashes;
  hashes.reserve(done.size());
  for (const finished_block& each : done) hashes.push_back(each.hash);
  made.state_hash = state_hash(std::as_bytes(std::span(hashes)));
  return made;
}

}  // namespace troupe
