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
  /// How long an idle engine spins before it parks. Between any two steps it offers its core to other threads
  /// (sched_yield). Zero: it does not spin.
  std::chrono::nanoseconds spin_budget{0};
};

/// What an engine thread has done so far. While it runs the numbers may be of slightly different moments.
struct engine_thread_counters {
  std::uint64_t parks = 0;
  std::uint64_t wake_ups = 0;        ///< parks that the bell ended; the others lasted for engine::park_limit()
  std::uint64_t spins_rewarded = 0;  ///< idle spells that ended while spinning
};

/// Drives one engine on a thread of its own until it has finished: steps it while there is work, then spins for a
/// budget, then sleeps on its doorbell for at most engine::park_limit(). It does not stop the engine; a command does.
/// An exception from step() ends the process.
class engine_thread {
 public:
  /// `driven` is not owned and outlives this. E0614 if the system gives no thread.
  [[nodiscard]] static expected<std::unique_ptr<engine_thread>> start(engine& driven,
                                                                      engine_thread_options options = {});

  engine_thread(const engine_thread&) = delete;
  engine_thread& operator=(const engine_thread&) = delete;
  /// join() has returned true before. Otherwise an invariant is broken, as the thread would use an engine that may be
  /// gone.
  ~engine_thread();

  /// Waits until the engine has finished, at most until `deadline`. True: it has, and its thread has ended. May be
  /// repeated, from one thread at a time. A caller that gives up after false keeps this object and the engine until the
  /// process ends.
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
