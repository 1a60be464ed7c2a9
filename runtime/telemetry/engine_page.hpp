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

/// What a stage has done so far. Written by the engine alone; any thread may read it at any time.
struct alignas(64) stage_counters {
  std::atomic<std::uint64_t> micro_batches{0};
  std::atomic<std::uint64_t> samples{0};
  /// The time of forwards and, where the stage has sinks, of scoring.
  std::atomic<std::uint64_t> busy_ns{0};
  std::atomic<std::uint64_t> forward_ns{0};
};

/// The micro-batch on which an engine works now, and how long the last ones took. Written by the engine alone. A reader
/// in the middle of a change may see the id of one micro-batch with the time of another. When the engine's process
/// dies, the words keep their last values.
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

  /// Called in place of end(), for work that is no forward and does not count for the median.
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

/// The id of a micro-batch, or nothing. Written once, by one thread.
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

/// The words of an engine that others read and write without its help: the bell that wakes it, and what it does. If the
/// engine or one of its neighbours is in another process, the page lies in memory that both have mapped
/// (shared_page.hpp). A page serves one incarnation.
struct engine_page {
  doorbell_words bell;
  /// Set by the worker to which the page was given, before it begins to become the stage. If the worker ends from then
  /// on, the stage may be the cause, and its death is counted.
  std::atomic<bool> taken{false};
  /// stage_telemetry::arrived_bytes, written by the transport of the edges into the engine.
  std::atomic<std::uint64_t> arrived_bytes{0};
  /// stage_telemetry::faults, written by the code that injects them.
  std::atomic<std::uint64_t> faults{0};
  /// By the number of a fault that a forward injects, the first micro-batch that it hit. Written before the bit of the
  /// fault in `faults`.
  std::array<micro_batch_mark, limits::faults_max> first_hits;
  /// Until this steady time in ns a fault cuts the node off from other nodes. Written by the node's agent.
  std::atomic<std::int64_t> cut_off_until{0};
  stage_counters counters;
  current_work work;
  /// In the loader's page, the bounds of the micro-batches that it has sent.
  sent_bounds sent;

  /// A copy of the present values. Threads: any.
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
