#include "runtime/process/start_budget.hpp"

#include <algorithm>
#include <array>
#include <csignal>

#include "messages/limits.hpp"

namespace troupe {
namespace {

/// What the worker told has a fix of its own.
std::string fix_of(const exit_report& report, bool from_outside) {
  if (report.told && !report.told->fix.empty()) return report.told->fix;
  if (from_outside) return "find out who killed it: the kernel's log names processes that took too much memory";
  return "call troupe::program, or the command line, in main() of this program; see its last lines, if any";
}

error early_end(const std::string& worker, const exit_report& report, const std::string& killed_for,
                bool from_outside) {
  return {error_code::process_failed, worker,
          "a worker ended before it said hello: " +
              (killed_for.empty() ? report.describe() : report.describe(killed_for + ", and was killed")),
          fix_of(report, from_outside)};
}

}  // namespace

bool was_killed_from_outside(const exit_report& report, const std::string& killed_for) {
  constexpr std::array from_outside = {SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  if (report.kind == exit_kind::lost) return !report.told;
  return killed_for.empty() && report.kind == exit_kind::signalled &&
         std::ranges::find(from_outside, report.value) != from_outside.end();
}

void start_budget::begin() noexcept {
  by_themselves_.count = 0;
  from_outside_.count = 0;
}

std::optional<error> start_budget::failed(const std::string& worker, const exit_report& report,
                                          const std::string& killed_for, std::size_t waited_for) {
  const bool from_outside = was_killed_from_outside(report, killed_for);
  row& its_row = from_outside ? from_outside_ : by_themselves_;
  if (its_row.count++ == 0) its_row.first = early_end(worker, report, killed_for, from_outside);
  const std::size_t most = from_outside ? limits::worker_starts_killed_max * std::max<std::size_t>(waited_for, 1)
                                        : limits::worker_failed_starts_max;
  if (its_row.count < most) return std::nullopt;
  error spent = its_row.first;
  spent.cause = std::to_string(its_row.count) + " times in a row " + spent.cause;
  return spent;
}

void start_budget::spare_lost(std::chrono::nanoseconds now) {
  spares_lost_.push_back(now);
}

bool start_budget::may_start_spare(std::chrono::nanoseconds now) {
  while (!spares_lost_.empty() && now - spares_lost_.front() > limits::death_window) spares_lost_.pop_front();
  return by_themselves_.count < limits::worker_failed_starts_max &&
         spares_lost_.size() < limits::spares_lost_in_window_max;
}

}  // namespace troupe
