#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "runtime/inject/run_start.hpp"
#include <troupe/fault_plan.hpp>

namespace troupe {

/// Which messages one fault of an edge, or of control messages, hits in this process: one object for all edges or links
/// that it names, over all epochs. Threads: any.
class message_trigger {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Asked before the fault hits, on the thread of the message; a partition asks once. `first`: it has not hit yet in
  /// this process. False: it must not, and never will: another process has injected what happens once in a run.
  using may_inject = std::function<bool(bool first)>;

  /// Without `may` it always may. No time has come before `start`.
  message_trigger(fault what, std::shared_ptr<const run_start> start, may_inject may = nullptr);
  message_trigger(const message_trigger&) = delete;
  message_trigger& operator=(const message_trigger&) = delete;

  [[nodiscard]] const fault& what() const noexcept { return what_; }

  /// Counts a message. True if it is hit.
  [[nodiscard]] bool hits(time_point now = std::chrono::steady_clock::now());
  /// Whether a partition lets nothing pass now.
  [[nodiscard]] bool is_active(time_point now = std::chrono::steady_clock::now());
  /// How long a delay holds the message that was just hit.
  [[nodiscard]] std::chrono::nanoseconds lateness();

 private:
  [[nodiscard]] std::optional<time_point> beginning() const;
  [[nodiscard]] bool begins(time_point now) const;
  [[nodiscard]] bool is_over(time_point now) const;
  [[nodiscard]] bool inject(time_point now);
  [[nodiscard]] double draw(std::uint64_t salt) const noexcept;

  const fault what_;
  const std::shared_ptr<const run_start> start_;
  const may_inject may_;
  std::mutex mutex_;
  std::uint64_t messages_ = 0;
  std::uint64_t hits_ = 0;
  /// When it hit first.
  std::optional<time_point> began_;
  bool forbidden_ = false;
};

}  // namespace troupe
