#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "messages/lifecycle.hpp"
#include "messages/limits.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe {

struct restart_limits {
  /// The limits for the deaths of one stage: without a move of the low-water mark, and within limits::death_window.
  std::uint32_t deaths_without_progress_max = limits::deaths_without_progress_max;
  std::uint32_t deaths_in_window_max = limits::deaths_in_window_max;
  /// false only in mutation tests, which must then find a micro-batch that is not named.
  bool names_suspects = true;
};

/// Counts the deaths of stages, and says when one of the limits is reached, so that to start a stage once more would
/// not help. Threads: one.
class restart_budget {
 public:
  explicit restart_budget(restart_limits most = {}) : most_(most) {}

  /// Notes a death. `low_water` is the low-water mark at that time. Returns nothing if the stage may be started again.
  /// The error (E0616) says that the budget is spent, and has the cause of the first of the deaths. If the deaths were
  /// without progress and all fell on one micro-batch, the error names that micro-batch.
  [[nodiscard]] std::optional<error> note(const stage_lost& death, std::chrono::nanoseconds now,
                                          micro_batch_id low_water);

  /// The micro-batch on which all deaths without progress fell, if they have spent the budget. Nothing if the budget
  /// was spent by many deaths within the time, as the last of them says nothing about the others.
  [[nodiscard]] std::optional<micro_batch_id> suspect(stage_address stage) const;

  /// The call of the suspect was given up. The next death of the stage is counted as the first without progress.
  void suspect_is_given_up(stage_address stage) { stages_.at(stage).without_progress = 0; }

 private:
  struct past_death {
    std::chrono::nanoseconds at;
    error cause;
  };
  struct record {
    micro_batch_id low_water;
    error first_cause;
    std::uint32_t without_progress = 0;
    std::optional<micro_batch_id> suspect;
    std::deque<past_death> recent;
  };
  restart_limits most_;
  std::map<stage_address, record> stages_;
};

}  // namespace troupe
