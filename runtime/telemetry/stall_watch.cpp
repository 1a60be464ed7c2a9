#include "runtime/telemetry/stall_watch.hpp"

#include <algorithm>

namespace troupe {
namespace {

/// Calls `visit` for each stage that is in a forward, with the begin of the forward.
template <class Visit>
void each_busy(const stage_accounts& stages, freeze_watch& freezes, std::chrono::nanoseconds now, Visit visit) {
  freezes.look(now);
  const auto living = stages.living();
  for (std::size_t stage = 0; stage < living.size(); ++stage) {
    const auto& work = living[stage];
    if (!work || !work->since || !work->working_on) continue;
    // Another process may have written any number.
    const auto begun = std::clamp(*work->since, std::chrono::nanoseconds{0}, now);
    visit(begun,
          stall{stages.owners()[stage], *work->working_on, freezes.lasted(begun, now), work->median.value_or(now)});
  }
}

}  // namespace

std::vector<stall> stall_watch::new_stalls(const stage_accounts& stages, std::chrono::nanoseconds now) {
  std::vector<stall> found;
  each_busy(stages, freezes_, now, [&](std::chrono::nanoseconds begun, const stall& one) {
    if (one.since < std::max<std::chrono::nanoseconds>(limits::stall_factor * one.median, limits::stall_time_min))
      return;
    const auto [known, is_new] = told_.try_emplace(one.stage.address, begun);
    if (!is_new && known->second == begun) return;
    known->second = begun;
    found.push_back(one);
  });
  return found;
}

std::vector<stall> stall_watch::longer_than(std::chrono::nanoseconds limit, const stage_accounts& stages,
                                            std::chrono::nanoseconds now) {
  std::vector<stall> found;
  each_busy(stages, freezes_, now, [&](std::chrono::nanoseconds, const stall& one) {
    if (one.since > limit) found.push_back(one);
  });
  return found;
}

}  // namespace troupe
