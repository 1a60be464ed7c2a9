#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "runtime/edge/doorbell.hpp"
#include <troupe/ids.hpp>

namespace troupe {

/// Where the newest low-water mark lies until the loader's engine looks. A mark only forgets and makes room, so it
/// wakes the engine only when the engine waits for room: a wake-up per mark would take a core from a stage a thousand
/// times a second. Threads: any may publish; take() and wait_for_mark() are the engine's.
class low_water_cell {
 public:
  /// Rings `bell` when a mark is waited for. Not owned; outlives the cell.
  explicit low_water_cell(doorbell& bell) : bell_(bell) {}

  /// Only the greatest mark counts.
  void publish(micro_batch_id mark) {
    {
      const std::lock_guard lock(mutex_);
      mark_ = std::max(mark_, mark);
    }
    fresh_.store(true, std::memory_order_seq_cst);
    if (waited_for_.load(std::memory_order_seq_cst)) bell_.ring();
  }

  /// The mark, if it has risen since the last take.
  [[nodiscard]] std::optional<micro_batch_id> take() {
    if (!fresh_.load(std::memory_order_seq_cst)) return std::nullopt;
    waited_for_.store(false, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    fresh_.store(false, std::memory_order_relaxed);
    return mark_;
  }

  /// The greatest mark there was. From any thread.
  [[nodiscard]] micro_batch_id newest() {
    const std::lock_guard lock(mutex_);
    return mark_;
  }

  /// From now on a mark rings. The engine looks once more after this, before it parks: in the total order of the four
  /// seq_cst operations either that look sees the mark or its publisher sees that it is waited for.
  void wait_for_mark() noexcept { waited_for_.store(true, std::memory_order_seq_cst); }

 private:
  doorbell& bell_;
  std::mutex mutex_;
  micro_batch_id mark_;
  std::atomic<bool> fresh_{false};
  std::atomic<bool> waited_for_{false};
};

}  // namespace troupe
