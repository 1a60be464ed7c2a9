#include "live_report.hpp"

#include <fmt/format.h>

#include "output.hpp"

namespace troupe::cli {

live_report::live_report()
    : terminal_(stderr_is_terminal()), printer_({.terminal = terminal_, .width = output_width()}) {}

evaluation_hooks live_report::hooks() {
  return {[this](const progress_update& update) { show(update); }, [this](const std::string& line) { log(line); }};
}

void live_report::show(const progress_update& update) {
  const clock::time_point now = clock::now();
  if (!begin_) begin_ = now;
  const double elapsed = std::chrono::duration<double>(now - *begin_).count();
  const std::string due =
      printer_.update({update.samples_done, update.samples_total, elapsed, update.samples_per_second});
  if (!due.empty()) say(due);
}

void live_report::log(const std::string& line) const {
  // A bar is in the way: its line is cleared, and drawn again with the next progress.
  say(fmt::format("{}{}\n", terminal_ ? "\r\x1b[K" : "", line));
}

void live_report::finish() {
  const std::string last = printer_.finish();
  if (!last.empty()) say(last);
}

}  // namespace troupe::cli
