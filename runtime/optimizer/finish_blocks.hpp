#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "messages/payload.hpp"
#include "runtime/optimizer/parameter_blocks.hpp"
#include "runtime/optimizer/parameter_layout.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What a vote says about a finished gradient (messages/training.hpp).
struct finished_sums {
  std::vector<double> squared_norms = {};
  std::uint64_t state_hash = 0;
  /// The first parameter whose gradient has infinity or NaN.
  std::optional<std::size_t> not_finite = std::nullopt;
};

/// The bytes of a replica's sum; null for null. E0702 where they are not as many as the layout has.
[[nodiscard]] expected<const std::byte*> sum_in(const payload_ptr& sum, const parameter_layout& layout);

/// gradient = the sums of the replicas, as the top of the tree of docs/decisions/0045: missing ones (null) are left
/// out; zero where all are missing. The hash is that of the gradient and of `weights`.
finished_sums finish_blocks(const parameter_layout& layout, const std::vector<parameter_block>& blocks,
                            std::span<const std::byte* const> sums, std::byte* gradient, const std::byte* weights);

}  // namespace troupe
