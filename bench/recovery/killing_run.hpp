#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <sys/types.h>

#include "program/run/started_run.hpp"
#include "recovery_case.hpp"
#include "timed_call.hpp"
#include "worker_steps.hpp"

namespace troupe::bench {

/// Of one kill; milliseconds from it.
struct kill_times {
  std::uint32_t stage = 0;
  double noticed = 0;   ///< the driver has said that the worker is gone
  double assigned = 0;  ///< the replacement begins to make its stage
  double made = 0;      ///< its model is loaded and optimized
  double warmed = 0;    ///< and warmed up
  double fed = 0;       ///< it begins its first micro-batch
  double resumed = 0;   ///< the first fold after that
  double gap = 0;       ///< the longest time without a fold in this evaluation
  std::uint64_t replayed = 0;
};

/// A pipeline over processes that is evaluated over and over again, and loses a worker each time.
class killing_run {
 public:
  static expected<std::unique_ptr<killing_run>> start(const recovery_case& which, std::uint32_t seed);

  /// Kills the worker of `stage` in the middle of an evaluation, whose metrics must have the same bits as in one
  /// process (E0601).
  expected<kill_times> kill(std::uint32_t stage);

 private:
  killing_run(recovery_case which, std::uint32_t seed) : which_(std::move(which)), random_(seed) {}

  [[nodiscard]] expected<void> await_spare();
  [[nodiscard]] std::optional<pid_t> spare() const;
  [[nodiscard]] expected<kill_times> kill_within(timed_call& call, std::uint32_t stage);
  [[nodiscard]] expected<void> await_resumption(timed_call& call, kill_times& times, std::chrono::nanoseconds killed,
                                                pid_t pid);
  [[nodiscard]] expected<void> pump_until(const std::function<bool()>& done, const std::string& what);
  void pump(std::chrono::milliseconds at_most);

  const recovery_case which_;
  std::mt19937 random_;
  evaluation_request request_;
  std::vector<metric_value> reference_;
  started_run stages_;
  /// By stage.
  std::map<std::uint32_t, worker_step> made_;
  std::map<std::uint32_t, worker_step> warmed_;
  std::map<std::uint32_t, worker_step> ran_;
  /// When the driver said that this process was lost.
  std::map<pid_t, std::chrono::nanoseconds> lost_;
  std::string last_line_;
};

}  // namespace troupe::bench
