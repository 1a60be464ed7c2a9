#include "runtime/telemetry/lost_work_watch.hpp"

#include <algorithm>

namespace troupe {
namespace {

using telemetry_of_all = std::vector<std::optional<stage_telemetry>>;

/// Every stage lives and none works. A stage that is being replaced does not live.
bool all_wait(const telemetry_of_all& living) {
  return std::ranges::all_of(living, [](const auto& stage) { return stage && !stage->working_on; });
}

std::uint64_t done_by(const stage_accounts& stages) {
  std::uint64_t done = 0;
  for (const stage_usage& each : stages.usage()) done += each.micro_batches;
  return done;
}

std::uint64_t arrived_at(const telemetry_of_all& living) {
  std::uint64_t bytes = 0;
  for (const auto& stage : living) bytes += stage ? stage->arrived_bytes : 0;
  return bytes;
}

}  // namespace

std::optional<micro_batch_id> lost_work_watch::look(micro_batch_id mark, const handed_out& sent,
                                                    const stage_accounts& stages, nanoseconds now) {
  freezes_.look(now);
  const auto reports = stages.taken_in();
  const auto living = stages.living();
  if (!sent.is_out_or_held(mark) || !reports || !all_wait(living)) {
    still_.reset();
    return std::nullopt;
  }
  const picture seen{mark, sent.deliveries(), done_by(stages), *reports, arrived_at(living)};
  if (still_ != seen) {
    still_ = seen;
    still_since_ = now;
    return std::nullopt;
  }
  if (freezes_.lasted(still_since_, now) < patience_) return std::nullopt;
  still_.reset();
  return mark;
}

}  // namespace troupe
