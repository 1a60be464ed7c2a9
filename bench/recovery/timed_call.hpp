#pragma once

#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "program/run/evaluation.hpp"
#include "program/run/running_topology.hpp"

namespace troupe::bench {

/// When micro-batches were folded. Threads: any.
class fold_log {
 public:
  void note();
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::optional<std::chrono::nanoseconds> first_after(std::chrono::nanoseconds when) const;
  /// The longest time between two folds that follow each other.
  [[nodiscard]] std::chrono::nanoseconds longest_gap() const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::chrono::nanoseconds> times_;
};

/// An evaluation whose folds are timed.
class timed_call {
 public:
  timed_call(std::unique_ptr<evaluation> call, running_topology& running);

  [[nodiscard]] const fold_log& folds() const noexcept { return *folds_; }
  [[nodiscard]] bool ended() const;
  /// Waits for its end.
  [[nodiscard]] expected<run_result> result();

 private:
  std::unique_ptr<evaluation> call_;
  std::shared_ptr<fold_log> folds_ = std::make_shared<fold_log>();
  std::future<call_outcome> outcome_;
};

}  // namespace troupe::bench
