#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "messages/limits.hpp"
#include "messages/stage_telemetry.hpp"
#include "runtime/edge/doorbell.hpp"
#include "runtime/ledger/sent_bounds.hpp"
#include <troupe/ids.hpp>

namespace troupe {

/// Read by anyone, any time; written by the engine alone.
struct alignas(64) stage_counters {
  std::atomic<std::uint64_t> micro_batches{0};
  std::atomic<std::uint64_t> samples{0};
  /// Forward passes and, where there are sinks, scoring.
  std::atomic<std::uint64_t> busy_ns{0};
  std::atomic<std::uint64_t> forward_ns{0};
};

/// What an engine works on right now, and how long it took before. Written by the engine alone. A reader in the middle
/// of a change may see the id of one micro-batch with the time of another; of a dead engine all is as it was.
class alignas(64) current_work {
 public:
  void begin(micro_batch_id id, std::chrono::nanoseconds now) noexcept {
    call_.store(id.call, std::memory_order_relaxed);
    index_.store(id.index, std::memory_order_relaxed);
    since_ns_.store(now.count(), std::memory_order_release);
  }
  void end(std::chrono::nanoseconds took) noexcept {
    since_ns_.store(idle, std::memory_order_release);
    const std::uint64_t count = finished_.load(std::memory_order_relaxed);
    last_ns_[count % last_ns_.size()].store(took.count(), std::memory_order_relaxed);
    finished_.store(count + 1, std::memory_order_release);
  }

  /// For work that is no forward and adds nothing to the median: after begin(), in place of end().
  void put_down() noexcept { since_ns_.store(idle, std::memory_order_release); }

  /// Nothing while the engine waits.
  [[nodiscard]] std::optional<micro_batch_id> working_on() const noexcept {
    if (since_ns_.load(std::memory_order_acquire) == idle) return std::nullopt;
    return micro_batch_id{call_.load(std::memory_order_relaxed), index_.load(std::memory_order_relaxed)};
  }
  /// By steady_now(), which is the same clock in all processes of a host.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> since() const noexcept {
    const std::int64_t ns = since_ns_.load(std::memory_order_acquire);
    return ns == idle ? std::nullopt : std::optional(std::chrono::nanoseconds{ns});
  }
  /// The median time of the last forwards; nothing before there were limits::stall_forwards_min.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> median() const {
    const std::uint64_t count = finished_.load(std::memory_order_acquire);
    if (count < limits::stall_forwards_min) return std::nullopt;
    std::array<std::int64_t, limits::stall_forwards_kept> last{};
    const auto end = last.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count, last.size()));
    std::transform(last_ns_.begin(), last_ns_.begin() + (end - last.begin()), last.begin(),
                   [](const auto& each) { return std::clamp(each.load(std::memory_order_relaxed), no_time, longest); });
    const auto middle = last.begin() + (end - last.begin()) / 2;
    std::nth_element(last.begin(), middle, end);
    return std::chrono::nanoseconds{*middle};
  }

 private:
  static constexpr std::int64_t idle = -1;
  /// Another process may write anything; calculations with values within these bounds cannot overflow.
  static constexpr std::int64_t no_time = 0;
  static constexpr std::int64_t longest = std::chrono::nanoseconds{std::chrono::hours{24 * 365}}.count();
  std::atomic<std::uint64_t> call_{0};
  std::atomic<std::uint64_t> index_{0};
  std::atomic<std::int64_t> since_ns_{idle};
  std::atomic<std::uint64_t> finished_{0};
  std::array<std::atomic<std::int64_t>, limits::stall_forwards_kept> last_ns_{};
};

/// A micro-batch, if any. Written once, by one thread.
class micro_batch_mark {
 public:
  void set(micro_batch_id id) noexcept {
    call_.store(id.call, std::memory_order_relaxed);
    index_and_one_.store(id.index + 1, std::memory_order_release);
  }
  [[nodiscard]] std::optional<micro_batch_id> get() const noexcept {
    const std::uint64_t index_and_one = index_and_one_.load(std::memory_order_acquire);
    if (index_and_one == 0) return std::nullopt;
    return micro_batch_id{call_.load(std::memory_order_relaxed), index_and_one - 1};
  }

 private:
  std::atomic<std::uint64_t> call_{0};
  std::atomic<std::uint64_t> index_and_one_{0};
};

/// What the outside has of an engine without asking it: the bell that wakes it, and what it does. Lies in memory that
/// other processes have mapped where the engine or a neighbour is in another one (shared_page.hpp); a page serves one
/// incarnation.
struct engine_page {
  doorbell_words bell;
  /// Set by the worker that the page was given to, before it begins to become the stage: what ends it from then on is
  /// the stage's own death.
  std::atomic<bool> taken{false};
  /// stage_telemetry::arrived_bytes, written by the transport of the edges into the engine.
  std::atomic<std::uint64_t> arrived_bytes{0};
  /// stage_telemetry::faults, written by what injects them.
  std::atomic<std::uint64_t> faults{0};
  /// By number of a fault: what it hit first, where a forward injected it; written before its bit of `faults`.
  std::array<micro_batch_mark, limits::faults_max> first_hits;
  /// Steady time in ns, written by the node's agent: until then a fault plan cuts the node off from others.
  std::atomic<std::int64_t> cut_off_until{0};
  stage_counters counters;
  current_work work;
  /// Bounds of what the loader's engine has sent.
  sent_bounds sent;

  /// As it is now. Threads: any.
  [[nodiscard]] stage_telemetry telemetry() const {
    return {.has_begun = taken.load(std::memory_order_acquire),
            .working_on = work.working_on(),
            .since = work.since(),
            .median = work.median(),
            .micro_batches = counters.micro_batches.load(std::memory_order_relaxed),
            .samples = counters.samples.load(std::memory_order_relaxed),
            .forward_ns = counters.forward_ns.load(std::memory_order_relaxed),
            .busy_ns = counters.busy_ns.load(std::memory_order_relaxed),
            .arrived_bytes = arrived_bytes.load(std::memory_order_relaxed),
            .faults = faults.load(std::memory_order_acquire)};
  }
};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

}  // namespace troupe
