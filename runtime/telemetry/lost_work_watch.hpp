#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "messages/limits.hpp"
#include "runtime/ledger/handed_out.hpp"
#include "runtime/os/freeze_watch.hpp"
#include "runtime/telemetry/stage_accounts.hpp"

namespace troupe {

/// Finds out that work or a credit was lost on its way, for whatever reason. Without this, the run would wait for ever
/// for a lost message. Work counts as lost if all of this is true for as long as `patience`:
///
/// - the oldest micro-batch that is not folded was sent, or the loader holds it because no receiver has room;
/// - every stage lives, and none works;
/// - no report of a stage is being taken in, and no part of a payload has arrived (stage_telemetry::arrived_bytes);
/// - nothing else has moved, either.
///
/// A false alarm costs a replay, and changes no result. The caller looks more often than every limits::look_pause_max.
/// If a look comes later, this process was frozen, and the time counts from that look on. Threads: one.
class lost_work_watch {
 public:
  using nanoseconds = std::chrono::nanoseconds;
  explicit lost_work_watch(nanoseconds patience) : patience_(patience) {}

  /// The micro-batch for which the run waits, if it is lost; returned again after the same time. `mark` is the
  /// low-water mark.
  [[nodiscard]] std::optional<micro_batch_id> look(micro_batch_id mark, const handed_out& sent,
                                                   const stage_accounts& stages, nanoseconds now);

 private:
  /// Everything that happens in a run changes one of these numbers.
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
  /// The numbers of the last looks. Nothing while a stage works or a report is taken in, or if there is nothing to wait
  /// for.
  std::optional<picture> still_;
  nanoseconds still_since_{0};
};

}  // namespace troupe
