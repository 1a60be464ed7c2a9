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
  /// Deaths of one stage without the low-water mark moving, and within limits::death_window.
  std::uint32_t deaths_without_progress_max = limits::deaths_without_progress_max;
  std::uint32_t deaths_in_window_max = limits::deaths_in_window_max;
  /// false only in mutation tests, which must then find a micro-batch that is not named.
  bool names_suspects = true;
};

/// Says when restarting a stage once more would not help: as many deaths as one of the limits. Threads: one.
class restart_budget {
 public:
  explicit restart_budget(restart_limits most = {}) : most_(most) {}

  /// `low_water`: everything below it was folded at the time of the death. Nothing: start it again. An error (E0616):
  /// the budget is spent; it has the cause of the first of these deaths. Of a row without progress it names the
  /// micro-batch if all of them fell on the same one.
  [[nodiscard]] std::optional<error> note(const stage_lost& death, std::chrono::nanoseconds now,
                                          micro_batch_id low_water);

  /// The micro-batch that a row of deaths without progress, long enough to spend the budget, fell on. Nothing where it
  /// was spent by many deaths within the time: the last of them says nothing of the others.
  [[nodiscard]] std::optional<micro_batch_id> suspect(stage_address stage) const;

  /// The suspect is given up, and with it what the stage died of: its next death begins a row.
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
