#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "messages/limits.hpp"
#include "runtime/flow/engine.hpp"
#include <troupe/error.hpp>

namespace troupe {

struct engine_thread_options {
  /// How long an idle engine spins before it parks, giving its core away between any two looks (sched_yield). Zero:
  /// never (the loader's engine).
  std::chrono::nanoseconds spin_budget{0};
};

/// What an engine thread did so far. Each number is right; together they are no snapshot while the thread runs.
struct engine_thread_counters {
  std::uint64_t parks = 0;
  std::uint64_t wake_ups = 0;        ///< parks that the bell ended; the others ran into engine::park_limit()
  std::uint64_t spins_rewarded = 0;  ///< idle spells that ended while spinning
};

/// Drives one engine on a thread of its own: steps it until it is idle, spins for a budget, parks on its doorbell,
/// until it has finished. It does not stop the engine: that is a command, which the engine answers with `finished`. A
/// sleep is at most engine::park_limit(). An exception from step() ends the process.
class engine_thread {
 public:
  /// `driven` is not owned and outlives this. E0614 if the system gives no thread.
  [[nodiscard]] static expected<std::unique_ptr<engine_thread>> start(engine& driven,
                                                                      engine_thread_options options = {});

  engine_thread(const engine_thread&) = delete;
  engine_thread& operator=(const engine_thread&) = delete;
  /// Joined by then: a broken invariant otherwise, since the thread would use an engine that may be gone.
  ~engine_thread();

  /// Waits until the engine has finished, at most until `deadline`; true when it has, and the thread has ended. May be
  /// repeated, from one thread at a time. After false both the thread and its engine are to be kept until the process
  /// ends.
  [[nodiscard]] bool join(std::chrono::steady_clock::time_point deadline);

  /// From any thread.
  [[nodiscard]] engine_thread_counters counters() const noexcept;

 private:
  engine_thread(engine& driven, engine_thread_options options);

  void run() noexcept;
  void drive();
  step_result spin();
  step_result park();

  engine& engine_;
  const engine_thread_options options_;
  std::atomic<std::uint64_t> parks_{0};
  std::atomic<std::uint64_t> wake_ups_{0};
  std::atomic<std::uint64_t> spins_rewarded_{0};
  std::mutex mutex_;
  std::condition_variable finished_changed_;
  bool finished_ = false;
  std::thread thread_;
};

}  // namespace troupe
