#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/ledger/micro_batch_source.hpp"

namespace troupe {

/// The micro-batches of one step as they come from their source, kept so that the step can be done again with the same
/// ones: nothing is taken from the source twice, not even its end. Threads: one at a time, that of the loader or, when
/// the call has ended, another.
class kept_batches {
 public:
  explicit kept_batches(std::shared_ptr<micro_batch_source> from) : from_(std::move(from)) {}

  /// Gives those of `batches` that are kept, and then the others. To be used instead of all that were made before.
  [[nodiscard]] static std::shared_ptr<micro_batch_source> read(std::shared_ptr<kept_batches> batches);

  /// The bytes of the tensors that are kept.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  class reader;
  /// Nothing behind the last one.
  [[nodiscard]] expected<std::optional<loaded_micro_batch>> at(std::size_t position);

  std::shared_ptr<micro_batch_source> from_;
  std::vector<loaded_micro_batch> kept_;
  bool has_ended_ = false;
  std::uint64_t bytes_ = 0;
};

}  // namespace troupe
