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

/// Of one place of a parameter: by replica, where the elements of its sum begin; null where a replica has none.
using place_sums = std::vector<const std::byte*>;
/// By parameter, its places in their order: one of them, but for tied parameters.
using parameter_sums = std::vector<std::vector<place_sums>>;

/// The bytes of a replica's sums; null for null. E0702 where they are not as many as the layout has.
[[nodiscard]] expected<const std::byte*> sum_in(const payload_ptr& sum, const parameter_layout& layout);

/// The places in the part, from the sums of its replicas (sum_in()). Those in other stages are without replicas.
[[nodiscard]] parameter_sums own_sums(const parameter_layout& layout, std::span<const std::byte* const> replicas);

/// gradient = the sums of the places, added in their order; each the sum of the replicas, as the top of the tree of
/// docs/decisions/0045. Missing ones (null) are left out; zero where all are missing. The hash is that of the gradient
/// and of `weights`. Of a tied parameter that another stage owns, squares that are finite count as 0, and `not_finite`
/// does not name it.
finished_sums finish_blocks(const parameter_layout& layout, const std::vector<parameter_block>& blocks,
                            const parameter_sums& sums, std::byte* gradient, const std::byte* weights);

}  // namespace troupe
