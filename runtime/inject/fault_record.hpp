#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/inject/run_start.hpp"
#include <troupe/fault_plan.hpp>
#include <troupe/ids.hpp>
#include <troupe/log_record.hpp>

namespace troupe {

/// What a run did with its plan: which faults were injected when, and what each cost. Threads: any.
class fault_record {
 public:
  struct entry {
    /// Since the first micro-batch was sent, of the first time; nothing: not yet.
    std::optional<std::chrono::nanoseconds> after;
    std::optional<micro_batch_id> micro_batch;
    std::uint64_t times = 0;
    /// From the loss that it caused until the run had new edges.
    std::optional<std::chrono::nanoseconds> recovery_time;
    std::uint64_t replayed = 0;
    std::uint64_t duplicates_dropped = 0;
    /// Why it was not injected though its moment came.
    std::optional<std::string> note;
  };

  /// `plan` has passed check(). `log` may be null.
  fault_record(fault_plan plan, log_function log);

  [[nodiscard]] const fault_plan& plan() const noexcept { return plan_; }

  [[nodiscard]] const std::shared_ptr<run_start>& start() const noexcept { return start_; }

  /// Takes the right to inject a fault that is injected once. False if it was taken before.
  [[nodiscard]] bool spend(std::size_t number, std::optional<micro_batch_id> at = std::nullopt);
  /// It was injected.
  void note(std::size_t number, std::optional<micro_batch_id> at = std::nullopt);
  /// Its moment came, and it is not injected any more.
  void give_up(std::size_t number, std::string why);
  /// Fault `number` cost this; no time where the run ended before it was whole again.
  void cost(std::size_t number, std::optional<std::chrono::nanoseconds> recovery_time, std::uint64_t replayed);
  /// So many results came a second time for it.
  void dropped(std::size_t number, std::uint64_t duplicates);

  [[nodiscard]] bool is_spent(std::size_t number) const;
  /// By position in the plan.
  [[nodiscard]] std::vector<entry> entries() const;
  /// How many were injected at least once.
  [[nodiscard]] std::uint64_t injected() const noexcept { return injected_.load(std::memory_order_relaxed); }

 private:
  [[nodiscard]] bool count(std::size_t number, std::optional<micro_batch_id> at, bool only_once);
  void tell(std::size_t number, const entry& now) const;

  const fault_plan plan_;
  const log_function log_;
  const std::shared_ptr<run_start> start_ = std::make_shared<run_start>();
  std::atomic<std::uint64_t> injected_{0};
  mutable std::mutex mutex_;
  std::vector<entry> entries_;
};

}  // namespace troupe
