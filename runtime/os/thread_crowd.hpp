#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include <pthread.h>
#include <sys/types.h>

namespace troupe {

/// Threads that are there at the same time and do nothing. Used by one thread.
class thread_crowd {
 public:
  thread_crowd() = default;
  thread_crowd(const thread_crowd&) = delete;
  thread_crowd& operator=(const thread_crowd&) = delete;
  /// Sends all home, joins them, and waits until the system counts them no more.
  ~thread_crowd();

  /// Starts up to `wanted` more, until the system refuses one; how many it gave. `stack_bytes` 0: the usual size.
  [[nodiscard]] std::uint32_t gather(std::uint32_t wanted, std::size_t stack_bytes = 0);

 private:
  static void* stand(void* crowd);
  void await_release() const;

  std::mutex mutex_;
  std::condition_variable over_changed_;
  bool over_ = false;
  std::vector<pid_t> numbers_;  ///< the system's, of those that have begun
  std::vector<pthread_t> threads_;
};

}  // namespace troupe
