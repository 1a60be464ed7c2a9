#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/edge/nccl/nccl_tools.hpp"

namespace troupe::nccl {

/// A communicator whose edge has ended, with all that its operations may still touch.
struct retired_communicator {
  communicator handle = nullptr;
  /// All operations are done on both sides; else it is revoked, where NCCL can, and aborted.
  bool is_clean = false;
  std::unique_ptr<context_stream> stream;
  std::vector<std::shared_ptr<const void>> buffers;
};

/// Ends communicators on a thread of its own, as an abort can hang. One that hangs for nccl_tools::abort_timeout is
/// abandoned with its thread, and another thread goes on. Threads: any; look() is for one that comes by regularly.
class reaper {
 public:
  using clock = std::chrono::steady_clock;

  explicit reaper(std::shared_ptr<const nccl_tools> tools);
  reaper(const reaper&) = delete;
  reaper& operator=(const reaper&) = delete;
  /// Waits for communicators to end, up to nccl_tools::abort_timeout, and abandons the rest.
  ~reaper();

  void end(retired_communicator gone);
  /// Abandons what has hung for too long.
  void look(clock::time_point now);
  /// Nothing waits or is under way; what was abandoned does not count.
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] std::uint32_t abandoned() const;

 private:
  struct queue;
  [[nodiscard]] bool start();
  void abandon();

  const std::shared_ptr<const nccl_tools> tools_;
  /// Guards the members below. Taken before the guard of a queue.
  mutable std::mutex guard_;
  std::shared_ptr<queue> queue_;
  std::uint32_t abandoned_ = 0;
};

}  // namespace troupe::nccl
