#pragma once

#include <cstddef>
#include <span>

#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe {

/// Takes the rows of one metric, which are then not kept in memory. One thread at a time.
class row_writer {
 public:
  row_writer() = default;
  row_writer(const row_writer&) = delete;
  row_writer& operator=(const row_writer&) = delete;
  virtual ~row_writer() = default;

  /// Once for each micro-batch with samples, in the order of the ids. An error ends the call.
  [[nodiscard]] virtual expected<void> append(micro_batch_id id, std::span<const std::byte> rows) = 0;
  /// After the last rows, once.
  [[nodiscard]] virtual expected<void> finish() = 0;
};

}  // namespace troupe
