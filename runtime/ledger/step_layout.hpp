#pragma once

#include <bit>
#include <cstdint>
#include <optional>

namespace troupe {

/// Which leaf of the tree of gradients (docs/decisions/0045) each micro-batch of a step is. The leaves 0 to M - 1 are
/// the micro-batches in the order of the data. A block of 2^k leaves belongs to each of R replicas, and the micro-batch
/// with the index j of the call goes to replica j mod R. Pure values; `leaves` and `replicas` are at least 1, and the
/// latter is a power of two.
struct step_layout {
  std::uint64_t leaves = 1;
  std::uint64_t replicas = 1;

  /// 2^k: the least with which all blocks together hold all leaves.
  [[nodiscard]] constexpr std::uint64_t block() const noexcept {
    return std::bit_ceil((leaves + replicas - 1) / replicas);
  }
  /// How many indices the call has. Those without a leaf are micro-batches without samples.
  [[nodiscard]] constexpr std::uint64_t indices() const noexcept {
    if (leaves <= block()) return (leaves - 1) * replicas + 1;
    const std::uint64_t full_blocks = leaves / block();
    return (block() - 1) * replicas + full_blocks;
  }
  /// Nothing where the index has no leaf.
  [[nodiscard]] constexpr std::optional<std::uint64_t> leaf_of(std::uint64_t index) const noexcept {
    if (index >= indices()) return std::nullopt;
    const std::uint64_t leaf = index % replicas * block() + index / replicas;
    return leaf < leaves ? std::optional(leaf) : std::nullopt;
  }
  /// The index of a leaf, which is below `leaves`.
  [[nodiscard]] constexpr std::uint64_t index_of(std::uint64_t leaf) const noexcept {
    return leaf % block() * replicas + leaf / block();
  }
};

}  // namespace troupe
