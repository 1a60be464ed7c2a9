#pragma once

#include <chrono>
#include <memory>

#include "runtime/process/hosted_worker.hpp"

namespace troupe {

/// Told what happens to workers, on threads of their host: of one worker in order, its end last. Must not wait, call
/// the host, or throw.
class worker_listener {
 public:
  worker_listener() = default;
  worker_listener(const worker_listener&) = delete;
  worker_listener& operator=(const worker_listener&) = delete;
  virtual ~worker_listener() = default;

  /// Its program runs. Not told of one that could not be started.
  virtual void started([[maybe_unused]] const hosted_worker_ptr& worker) {}
  /// Bytes that it sent; they may be anything.
  virtual void said(const hosted_worker_ptr& worker, codec::bytes message) = 0;
  /// Its link broke, or it is silent: nothing more comes over it or goes there. At most once. It may live on, or its
  /// end is told a moment later.
  virtual void link_lost(const hosted_worker_ptr& worker) = 0;
  /// Exactly once for every worker that start() returns, possibly before it does; unless the host itself ends before.
  /// One that could not be started is lost (exit_kind), and its report has told why.
  virtual void exited(const hosted_worker_ptr& worker, const exit_report& report) = 0;
};

/// Where the workers of a run live, for those in the driver that have them: this machine (local_host), another one, or
/// a test. Knows nothing of what they compute. Threads: any.
class worker_host {
 public:
  worker_host() = default;
  worker_host(const worker_host&) = delete;
  worker_host& operator=(const worker_host&) = delete;
  virtual ~worker_host() = default;

  /// Returns before its program runs, so that the caller goes on; ranks ascend from 0. E0614: there is no room for it,
  /// and its listener is told nothing. E0608 after close().
  [[nodiscard]] virtual expected<hosted_worker_ptr> start(std::shared_ptr<worker_listener> listener) = 0;
  /// Waits, at most until `deadline`, for hosted_worker::telemetry() to be as it is where the workers live: at once
  /// where they share memory with this process.
  virtual void refresh_telemetry(std::chrono::steady_clock::time_point deadline) = 0;
  /// No worker starts from now on; ends are those of the run, and are not logged.
  virtual void close() noexcept = 0;
  /// Ends all workers, those that live after `grace` by force; nothing can be started any more. True if none is left
  /// at `deadline`. Not from a listener.
  virtual bool stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace) = 0;
};

}  // namespace troupe
