#include "actors/restart_budget.hpp"

#include <string>

#include "messages/limits.hpp"

namespace troupe {
namespace {

/// The cause of the first death stands at the end: it may be many lines.
error spent(std::string count, const error& first, const std::optional<micro_batch_id>& suspect) {
  if (suspect) count += "; it worked on this micro-batch every time";
  error made{error_code::restarts_spent, first.where, std::move(count) + "; the first time: " + first.cause,
             "look at its last words, and restart the run when the cause is gone"};
  if (!suspect) return made;
  made.where += (made.where.empty() ? "" : ", ") + to_string(*suspect);
  made.fix = "take its samples out of the data, or find out why the stage dies of them";
  return made;
}

}  // namespace

std::optional<error> restart_budget::note(const stage_lost& death, std::chrono::nanoseconds now,
                                          micro_batch_id low_water) {
  record& stage = stages_[death.address];
  if (stage.without_progress == 0 || stage.low_water != low_water) {
    stage.low_water = low_water;
    stage.without_progress = 0;
    stage.first_cause = death.cause;
    stage.suspect = most_.names_suspects ? death.working_on : std::nullopt;
  }
  if (stage.suspect != death.working_on) stage.suspect.reset();
  ++stage.without_progress;
  stage.recent.push_back({now, death.cause});
  while (now - stage.recent.front().at > limits::death_window) stage.recent.pop_front();

  if (stage.without_progress >= most_.deaths_without_progress_max) {
    return spent("it died " + std::to_string(stage.without_progress) + " times without a micro-batch being finished",
                 stage.first_cause, stage.suspect);
  }
  if (stage.recent.size() >= most_.deaths_in_window_max) {
    return spent("it died " + std::to_string(stage.recent.size()) + " times within " +
                     std::to_string(limits::death_window.count()) + " s",
                 stage.recent.front().cause, std::nullopt);
  }
  return std::nullopt;
}

std::optional<micro_batch_id> restart_budget::suspect(stage_address stage) const {
  const auto found = stages_.find(stage);
  const bool is_row = found != stages_.end() && found->second.without_progress >= most_.deaths_without_progress_max;
  return is_row ? found->second.suspect : std::nullopt;
}

}  // namespace troupe
