#include "runtime/engine/lost_work_watch.hpp"

#include <algorithm>

namespace troupe {
namespace {

/// A stage that is being replaced does not live.
bool all_wait(const stage_accounts& stages) {
  const auto living = stages.living();
  return std::ranges::all_of(living, [](const auto& stage) { return stage && !stage->working_on; });
}

std::uint64_t done_by(const stage_accounts& stages) {
  std::uint64_t done = 0;
  for (const stage_usage& each : stages.usage()) done += each.micro_batches;
  return done;
}

}  // namespace

std::optional<micro_batch_id> lost_work_watch::look(micro_batch_id mark, const handed_out& sent,
                                                    const stage_accounts& stages, nanoseconds now) {
  freezes_.look(now);
  const auto reports = stages.taken_in();
  if (!sent.is_out_or_held(mark) || !reports || !all_wait(stages)) {
    still_.reset();
    return std::nullopt;
  }
  const picture seen{mark, sent.deliveries(), done_by(stages), *reports};
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
