#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/processes/marked_run.hpp"

namespace troupe::testing {

/// What happens to a run: signals at moments that follow from the seed and from the run's progress.
struct schedule_options {
  enum class family : std::uint8_t {
    stages,  ///< single kills and some in the middle of a recovery, at shares of the journal's growth
    start,   ///< a row of kills from the first child on
    mix,     ///< pairs within milliseconds, the spare among them; freezes of one worker, and of the run as a whole
  };
  family kind = family::stages;
  std::uint64_t seed = 0;
  /// Bytes of a complete journal.
  std::uintmax_t whole = 0;
  /// --worker-timeout.
  std::chrono::milliseconds silence{0};
};

/// Sends the signals of one schedule. It never gives a run a reason to end: of the workers that had begun to become a
/// stage at most two end without progress in between, whichever they are; others may die in any number. What a worker
/// is it finds in the memory that the process has mapped, while it is stopped.
class random_schedule {
 public:
  static inline const char* journal = "run.journal";

  random_schedule(marked_run& run, const schedule_options& options);

  /// To be called as often as possible.
  void tick();
  [[nodiscard]] int kills() const { return kills_; }
  /// What was done, one line each.
  [[nodiscard]] const std::string& history() const { return history_; }

 private:
  using clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;
  enum class deed : std::uint8_t { kill, freeze_one, freeze_all };

  [[nodiscard]] milliseconds up_to(int most) { return milliseconds{random_() % static_cast<unsigned>(most + 1)}; }
  void choose_next();
  [[nodiscard]] bool is_due() const;
  void look_at_progress();
  [[nodiscard]] pid_t victim_among(const std::vector<pid_t>& workers);
  void kill_one(const std::vector<pid_t>& workers);
  void freeze(const std::vector<pid_t>& processes, milliseconds time);
  void thaw();
  void note(const std::string& what);

  marked_run& run_;
  const schedule_options options_;
  std::mt19937_64 random_;
  clock::time_point started_ = clock::now();
  std::string history_;
  int deeds_left_ = 0;
  deed next_ = deed::kill;
  double next_share_ = 0;
  std::optional<clock::time_point> next_at_;
  /// More of the same burst.
  int more_ = 0;
  int kills_ = 0;
  std::uintmax_t size_ = 0;
  clock::time_point grown_at_;
  int growths_ = 0;
  int began_without_progress_ = 0;
  std::vector<pid_t> frozen_;
  clock::time_point thaw_at_;
};

}  // namespace troupe::testing
