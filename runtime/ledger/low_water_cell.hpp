#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "runtime/edge/doorbell.hpp"
#include <troupe/ids.hpp>

namespace troupe {

/// Holds the newest low-water mark until the loader's engine looks at it. A mark only makes room in the loader's
/// window, so publishing it wakes the engine only if the engine waits for room. To wake it for every mark would take a
/// core from a stage a thousand times a second. Threads: any may publish; only the engine calls take() and
/// wait_for_mark().
class low_water_cell {
 public:
  /// `bell` rings when a mark is published for which the engine waits. Not owned; outlives the cell.
  explicit low_water_cell(doorbell& bell) : bell_(bell) {}

  /// Publishes a mark. Only the greatest mark counts.
  void publish(micro_batch_id mark) {
    {
      const std::lock_guard lock(mutex_);
      mark_ = std::max(mark_, mark);
    }
    fresh_.store(true, std::memory_order_seq_cst);
    if (waited_for_.load(std::memory_order_seq_cst)) bell_.ring();
  }

  /// The mark, if it has risen since the last call.
  [[nodiscard]] std::optional<micro_batch_id> take() {
    if (!fresh_.load(std::memory_order_seq_cst)) return std::nullopt;
    waited_for_.store(false, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    fresh_.store(false, std::memory_order_relaxed);
    return mark_;
  }

  /// The greatest mark so far. From any thread.
  [[nodiscard]] micro_batch_id newest() {
    const std::lock_guard lock(mutex_);
    return mark_;
  }

  /// The next mark rings the bell. The engine calls take() once more after this, before it parks. In the total order of
  /// the four seq_cst operations, either this take() sees the mark, or the publisher of the mark sees that the engine
  /// waits.
  void wait_for_mark() noexcept { waited_for_.store(true, std::memory_order_seq_cst); }

 private:
  doorbell& bell_;
  std::mutex mutex_;
  micro_batch_id mark_;
  std::atomic<bool> fresh_{false};
  std::atomic<bool> waited_for_{false};
};

}  // namespace troupe
