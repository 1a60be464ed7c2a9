#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/os/freeze_watch.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// One link, as those who keep it alive see it. Threads: any.
class watched_link {
 public:
  explicit watched_link(int socket) : socket_(socket), heard_at_(now()) {}

  /// The other end has said something.
  void heard() noexcept { heard_at_.store(now(), std::memory_order_relaxed); }
  /// The socket is about to be closed.
  void closed();

 private:
  friend class link_watch;
  static std::int64_t now() noexcept { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  void shut_down();

  std::mutex mutex_;
  int socket_;
  std::atomic<std::int64_t> heard_at_;
};

/// Ends links whose other end has said nothing for `timeout`: their sockets are shut down, which the thread that reads
/// or writes there is told as any loss. When this process was frozen itself the others get a new period, so that the
/// ends of a run that is stopped as a whole do not blame each other. Threads: any; it has one of its own.
class link_watch {
 public:
  /// Looks at the links every `interval`.
  link_watch(std::chrono::milliseconds timeout, std::chrono::milliseconds interval);
  link_watch(const link_watch&) = delete;
  link_watch& operator=(const link_watch&) = delete;
  ~link_watch();

  /// Before the first link; again without effect. E0614 where the system gives no thread.
  [[nodiscard]] expected<void> start();
  /// Watched until the pointer is gone.
  [[nodiscard]] std::shared_ptr<watched_link> watch(int socket);

 private:
  void run();
  void look(std::chrono::nanoseconds now);

  const std::chrono::milliseconds timeout_;
  const std::chrono::milliseconds interval_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::list<std::weak_ptr<watched_link>> links_;
  freeze_watch freezes_;
  std::thread thread_;
};

}  // namespace troupe
