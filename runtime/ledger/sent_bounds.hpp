#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>

#include "messages/activation.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Bounds of the ids and sizes of all micro-batches that the loader has sent, for receivers in other processes. A
/// micro-batch outside them was never sent. Each bound only widens, so it can be read alone, at any time. handed_out
/// knows exactly what was sent, but only in the loader's process: an untrue message within the bounds is found there,
/// or as lost work (lost_work_watch). Written by the loader's engine alone, before it sends. Threads: any may read.
class alignas(64) sent_bounds {
 public:
  void note(micro_batch_id id, std::uint64_t samples) noexcept {
    raise(calls_, id.call + 1);
    raise(indices_, id.index + 1);
    raise(samples_max_, samples);
    if (samples < samples_min_.load(std::memory_order_relaxed)) samples_min_.store(samples, std::memory_order_release);
  }
  /// No micro-batch of the calls below `below` will be sent for the first time any more. It may be sent again.
  void note_ended(call_number below) noexcept {
    raise(calls_, below);
    raise(ended_calls_, below);
  }

  /// E0702 if no such micro-batch was sent, or none with this number of samples.
  [[nodiscard]] expected<void> check(micro_batch_id id, std::uint64_t samples) const;
  [[nodiscard]] bool has_ended(call_number call) const noexcept {
    return call < ended_calls_.load(std::memory_order_acquire);
  }

 private:
  static void raise(std::atomic<std::uint64_t>& bound, std::uint64_t to) noexcept {
    if (to > bound.load(std::memory_order_relaxed)) bound.store(to, std::memory_order_release);
  }

  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> indices_{0};
  std::atomic<std::uint64_t> ended_calls_{0};
  std::atomic<std::uint64_t> samples_min_{std::numeric_limits<std::uint64_t>::max()};
  std::atomic<std::uint64_t> samples_max_{0};
};

}  // namespace troupe
