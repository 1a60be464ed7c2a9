#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "tests/processes/marked_run.hpp"

namespace troupe::testing {

/// Kills random workers of a run that keeps a journal, as often as asked for, evenly over its length; after about half
/// of these deaths one more in the middle of the recovery. Never so many that giving up would be right: between two
/// pairs the run makes progress (limits::deaths_without_progress_max), and no three in a row are workers that have just
/// been started.
class killer {
 public:
  static inline const char* journal = "run.journal";

  /// `whole`: bytes of a complete journal.
  killer(marked_run& run, std::uint64_t seed, std::uintmax_t whole, int kills);

  /// To be called as often as possible.
  void tick();
  [[nodiscard]] int done() const { return done_; }

 private:
  using clock = std::chrono::steady_clock;

  void kill_one();
  [[nodiscard]] bool is_due(std::uintmax_t size) const;

  marked_run& run_;
  std::mt19937_64 random_;
  const std::uintmax_t whole_;
  const int kills_;
  int done_ = 0;
  double next_share_ = 0;
  std::uintmax_t size_before_ = 0;
  std::optional<clock::time_point> again_at_;
  std::set<pid_t> known_;
  int fresh_in_a_row_ = 0;
};

}  // namespace troupe::testing
