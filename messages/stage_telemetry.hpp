#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <troupe/ids.hpp>

namespace troupe {

/// What a stage does and has done, at one moment. Of a stage in a worker all but the type is its own claim.
struct stage_telemetry {
  /// Its worker has begun to become the stage: what ends it from then on is the stage's own death.
  bool has_begun = false;
  /// The micro-batch in work, and since when by steady_now(); both are nothing while the engine waits. A snapshot in
  /// the middle of a change may have the id of one micro-batch with the time of another.
  std::optional<micro_batch_id> working_on = std::nullopt;
  std::optional<std::chrono::nanoseconds> since = std::nullopt;
  /// The median time of the last forwards; nothing before there were limits::stall_forwards_min.
  std::optional<std::chrono::nanoseconds> median = std::nullopt;
  std::uint64_t micro_batches = 0;
  std::uint64_t samples = 0;
  /// Forward passes; and with them, where there are sinks, scoring.
  std::uint64_t forward_ns = 0;
  std::uint64_t busy_ns = 0;
  /// Bytes of payloads that come into the stage in parts: while the number grows, the stage does not wait in vain.
  std::uint64_t arrived_bytes = 0;
  /// Bit k: it has injected fault k of the plan.
  std::uint64_t faults = 0;
};

}  // namespace troupe
