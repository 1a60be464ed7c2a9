#pragma once

#include <cstdint>
#include <optional>

#include <tl/expected.hpp>

#include "runtime/config/option_table.hpp"
#include <troupe/limits.hpp>

namespace troupe {

/// Largest values of batch_numbers: no product of them overflows.
inline constexpr std::int64_t train_batch_max = std::int64_t{1} << 52;
inline constexpr std::int64_t accumulation_steps_max = std::int64_t{1} << 20;

/// What a DeepSpeed configuration gives of its three numbers of samples: from 1 to train_batch_max,
/// limits::micro_batch_max and accumulation_steps_max.
struct batch_numbers {
  std::optional<std::int64_t> train_batch_size = std::nullopt;
  std::optional<std::int64_t> micro_batch = std::nullopt;
  std::optional<std::int64_t> accumulation_steps = std::nullopt;

  /// Whether the rule can find the others.
  [[nodiscard]] bool suffice() const { return train_batch_size || micro_batch; }
};

struct batch_sizes {
  /// micro_batch x accumulation_steps x replicas
  std::int64_t train_batch_size = 0;
  /// Samples of a micro-batch.
  std::int64_t micro_batch = 0;
  /// Micro-batches that each replica gets of a batch.
  std::int64_t accumulation_steps = 0;
};

/// DeepSpeed's rule over all that may be given; its world size is the number of `replicas`. The missing ones are
/// computed by divisions that round down, steps being 1 where only one size is given; then the product has to be exact.
/// A problem names all four numbers.
tl::expected<batch_sizes, value_problem> resolve_batch(const batch_numbers& given, std::int64_t replicas);

}  // namespace troupe
