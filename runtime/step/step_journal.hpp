#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/journal/journal_writer.hpp"
#include "runtime/step/step_replay.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The journal of a training: the decisions in its file, and those that this run adds to it. Threads: any.
class step_journal final : public journal_appender {
 public:
  /// As create_journal() and resume_journal(), with their errors. E0802 for a journal that has states of an evaluation.
  [[nodiscard]] static expected<std::shared_ptr<step_journal>> open(const std::string& path, bool resume,
                                                                    const journal_pins& pins);

  /// E0803: steps alone are kept.
  [[nodiscard]] expected<void> append(const score& state) override;
  [[nodiscard]] expected<void> append(const step_record& step) override;
  /// Waits until all is on the disk. E0803.
  [[nodiscard]] expected<void> sync() { return writer_->sync(); }
  [[nodiscard]] expected<void> close() { return writer_->close(); }
  [[nodiscard]] journal_writer& writer() noexcept { return *writer_; }

  /// The decisions that are to be made again by a run that goes on behind the first `decisions`.
  [[nodiscard]] step_replay replay_from(std::uint64_t decisions) const;
  /// Those with a number below `decisions`, in their order.
  [[nodiscard]] std::vector<step_record> before(std::uint64_t decisions) const;

 private:
  step_journal() = default;

  std::shared_ptr<journal_writer> writer_;
  mutable std::mutex mutex_;
  std::vector<step_record> records_;
};

/// Removes a journal all of whose decisions have numbers below `decisions`, so that a checkpoint makes it needless. It
/// is left alone where it has others, cannot be read, or is written by another process: to resume it tells why.
void remove_needless_journal(const std::string& path, std::uint64_t decisions);

}  // namespace troupe
