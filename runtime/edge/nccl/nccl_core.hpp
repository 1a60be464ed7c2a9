#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/edge/doorbell.hpp"
#include "runtime/edge/nccl/nccl_link.hpp"
#include "runtime/edge/nccl/nccl_reaper.hpp"
#include "runtime/edge/nccl/nccl_tools.hpp"

namespace troupe::nccl {

/// The one thread of a process that gives NCCL work for its device, for all edges. It looks at what NCCL and the device
/// have done while something is under way, and else sleeps at its bell. Threads: any but its own.
class core {
 public:
  using clock = std::chrono::steady_clock;
  /// Communicators are begun in this order among those that are known: epoch, then channel.
  using order = std::pair<std::uint64_t, std::uint64_t>;

  /// E0614, and what device_context::enter_thread() fails with.
  [[nodiscard]] static expected<std::shared_ptr<core>> open(std::shared_ptr<const nccl_tools> tools);
  ~core();
  core(const core&) = delete;
  core& operator=(const core&) = delete;

  [[nodiscard]] const std::shared_ptr<const nccl_tools>& tools() const noexcept { return tools_; }
  [[nodiscard]] const std::shared_ptr<reaper>& ends() const noexcept { return reaper_; }
  [[nodiscard]] const std::shared_ptr<doorbell>& bell() const noexcept { return bell_; }
  void add(order at, std::unique_ptr<end_half> half);
  void wake(const std::shared_ptr<link>&) const noexcept { bell_->ring(); }
  /// Lets closed ends finish for up to `at_most`; then all others are silent. Idempotent.
  void stop(std::chrono::milliseconds at_most) noexcept;
  [[nodiscard]] bool has_stopped() const noexcept { return has_stopped_.load(std::memory_order_acquire); }

  /// For tests: rings, and looks at all edges after that. If nothing was under way here but what other threads and
  /// processes do: how often the bell has rung.
  [[nodiscard]] std::optional<std::uint32_t> settled_at() const;

 private:
  struct edge {
    order at;
    std::unique_ptr<end_half> half;
  };
  explicit core(std::shared_ptr<const nccl_tools> tools);
  void run();
  void take_new();
  [[nodiscard]] bool may_end() const;
  /// All halves once: the liveliest of their states.
  [[nodiscard]] end_half::state step_all(clock::time_point now);
  void rest(end_half::state found, std::uint32_t seen, clock::time_point busy_since);

  const std::shared_ptr<const nccl_tools> tools_;
  const std::shared_ptr<reaper> reaper_;
  const std::shared_ptr<doorbell> bell_ = std::make_shared<doorbell>();
  /// The thread's alone.
  std::vector<edge> edges_;
  std::mutex guard_;
  std::vector<edge> new_edges_;
  /// Read once is_stopping_ is true.
  clock::time_point leave_limit_;
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> has_stopped_{false};
  /// A number for the last look at all edges: twice the bell's count before it, plus 1 if it found nothing to do.
  std::atomic<std::uint64_t> last_look_{0};
  std::thread thread_;
};

}  // namespace troupe::nccl
