#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "messages/limits.hpp"
#include "runtime/ledger/handed_out.hpp"
#include "runtime/os/freeze_watch.hpp"
#include "runtime/telemetry/stage_accounts.hpp"

namespace troupe {

/// Finds out that work or a credit was lost on its way, whatever lost it: the oldest micro-batch that is not folded was
/// sent, or the loader holds it and no receiver has room; every stage lives, none works, no report of one is being
/// taken in, no part of a payload has come (stage_telemetry::arrived_bytes), and nothing else has moved for `patience`.
/// Without this a lost message would be a wait for ever. A false alarm costs a replay, and no result.
///
/// Looks more often than every limits::look_pause_max: a longer pause is a freeze of this process, and times count from
/// its end. Threads: one.
class lost_work_watch {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  explicit lost_work_watch(nanoseconds patience) : patience_(patience) {}

  /// The micro-batch that is waited for, if it is lost; told again after the same time. `mark`: the low-water mark.
  [[nodiscard]] std::optional<micro_batch_id> look(micro_batch_id mark, const handed_out& sent,
                                                   const stage_accounts& stages, nanoseconds now);

 private:
  /// Whatever happens in a run changes one of these.
  struct picture {
    micro_batch_id mark;
    std::uint64_t deliveries = 0;
    std::uint64_t micro_batches = 0;
    std::uint64_t reports = 0;
    std::uint64_t arrived_bytes = 0;
    friend bool operator==(const picture&, const picture&) = default;
  };

  const nanoseconds patience_;
  freeze_watch freezes_{limits::look_pause_max};
  /// Nothing while something moves, or nothing is waited for.
  std::optional<picture> still_;
  nanoseconds still_since_{0};
};

}  // namespace troupe
