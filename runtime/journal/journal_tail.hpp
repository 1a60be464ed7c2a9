#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include "messages/score.hpp"
#include "runtime/journal/step_record.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Where the bytes of a journal go: a file, or a simulated disk. Threads: one at a time.
class journal_file {
 public:
  journal_file() = default;
  journal_file(const journal_file&) = delete;
  journal_file& operator=(const journal_file&) = delete;
  virtual ~journal_file() = default;

  /// The whole content, behind what was written before. 0, or errno.
  [[nodiscard]] virtual int write(std::span<const std::uint8_t> content) = 0;
  /// What was written is on the disk when it returns. 0, or errno.
  [[nodiscard]] virtual int sync() = 0;
};

/// Takes the states and steps of a journal; see journal_writer. Threads: any.
class journal_appender {
 public:
  journal_appender() = default;
  journal_appender(const journal_appender&) = delete;
  journal_appender& operator=(const journal_appender&) = delete;
  virtual ~journal_appender() = default;

  [[nodiscard]] virtual expected<void> append(const score& state) = 0;
  /// Returns when the record is where the death of this process does not take it: in the file, though perhaps not yet
  /// on the disk. A decision may be told to others from then on.
  [[nodiscard]] virtual expected<void> append(const step_record& step) = 0;
};

/// When the end of a journal is written and synced: content goes out at once, and is synced
/// limits::journal_sync_interval after the first that is not synced; the last content at once. Threads: one.
class journal_tail {
 public:
  /// `syncs`: false only in mutation tests, which must then find states that a loss of power takes.
  explicit journal_tail(journal_file& file, bool syncs = true) : file_(file), syncs_(syncs) {}

  /// 0, or errno: nothing more can be put then.
  [[nodiscard]] int put(std::span<const std::uint8_t> content, bool last, std::chrono::nanoseconds now);
  /// When put() is to be called again, also without content; nothing: all is synced.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> next_sync() const noexcept { return next_sync_; }

 private:
  journal_file& file_;
  const bool syncs_;
  std::optional<std::chrono::nanoseconds> next_sync_;
};

}  // namespace troupe
