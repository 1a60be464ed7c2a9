#pragma once

#include <cstdint>
#include <optional>

#include "messages/payload.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe {

/// One micro-batch as a source gives it.
struct loaded_micro_batch {
  /// Empty in a training step alone, where a replica has fewer micro-batches than another one; then there are no
  /// tensors either.
  sample_range samples;
  payload_ptr tensors;
  payload_ptr labels;
  /// Bytes of tensors and labels, which the loader's window counts. 0: not known.
  std::uint64_t bytes = 0;
};

/// The micro-batches of one call, in order. Only the thread of the loader's engine uses it. Which samples are in which
/// micro-batch depends on the data set and the micro-batch size alone.
class micro_batch_source {
 public:
  micro_batch_source() = default;
  micro_batch_source(const micro_batch_source&) = delete;
  micro_batch_source& operator=(const micro_batch_source&) = delete;
  virtual ~micro_batch_source() = default;

  /// The next micro-batch, or nothing at the end and after it. Never called before the call has begun. An exception
  /// that leaves it becomes E0604.
  [[nodiscard]] virtual expected<std::optional<loaded_micro_batch>> next() = 0;

  /// Whether reread() works; always the same answer. If it does not, the loader keeps every micro-batch until the
  /// micro-batch is folded.
  [[nodiscard]] virtual bool is_rereadable() const noexcept { return false; }

  /// A micro-batch that next() returned before, with the same samples and bits. The position of next() does not change.
  /// `index` counts from the beginning of the call, including micro-batches that an earlier run folded. May be called
  /// after the end and after an error. An exception that leaves it becomes E0604.
  [[nodiscard]] virtual expected<loaded_micro_batch> reread([[maybe_unused]] std::uint64_t index) {
    return fail(error_code::source_failed, "data source", "it does not read again, but says that it does",
                "override reread(), or have is_rereadable() say no");
  }

  /// The number of micro-batches, if known before the end (for progress bars).
  [[nodiscard]] virtual std::optional<std::uint64_t> count() const { return std::nullopt; }
};

}  // namespace troupe
