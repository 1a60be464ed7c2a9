#pragma once

#include <cstdint>
#include <optional>

#include "messages/payload.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe {

/// One micro-batch as a source gives it.
struct loaded_micro_batch {
  sample_range samples;
  payload_ptr tensors;
  payload_ptr labels;
  /// Bytes of tensors and labels, for the loader's window. 0: unknown.
  std::uint64_t bytes = 0;
};

/// The micro-batches of one call, in order. Only the loader's engine thread uses it. Composition depends on the data
/// set and the micro-batch size alone.
class micro_batch_source {
 public:
  micro_batch_source() = default;
  micro_batch_source(const micro_batch_source&) = delete;
  micro_batch_source& operator=(const micro_batch_source&) = delete;
  virtual ~micro_batch_source() = default;

  /// The next micro-batch, or nothing at the end and ever after. Never called before its call has begun. An escaping
  /// exception becomes E0604.
  [[nodiscard]] virtual expected<std::optional<loaded_micro_batch>> next() = 0;

  /// Whether reread() works; constant. If not, the loader keeps every micro-batch until it is folded.
  [[nodiscard]] virtual bool is_rereadable() const noexcept { return false; }

  /// A micro-batch that next() gave before, with the same samples and bits; the position of next() stays. `index`
  /// counts from the beginning of the call, including micro-batches that an earlier run folded. May be called after the
  /// end and after an error. Exceptions as with next().
  [[nodiscard]] virtual expected<loaded_micro_batch> reread([[maybe_unused]] std::uint64_t index) {
    return fail(error_code::source_failed, "data source", "it does not read again, but says that it does",
                "override reread(), or have is_rereadable() say no");
  }

  /// The number of micro-batches, if known before the end (for progress bars).
  [[nodiscard]] virtual std::optional<std::uint64_t> count() const { return std::nullopt; }
};

}  // namespace troupe
