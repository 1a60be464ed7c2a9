#include "live_report.hpp"

#include <fmt/format.h>

#include "messages/try.hpp"
#include "output.hpp"

namespace troupe::cli {

live_report::live_report()
    : terminal_(stderr_is_terminal()), printer_({.terminal = terminal_, .width = output_width()}) {}

expected<std::unique_ptr<live_report>> live_report::start(const eval_options& options) {
  std::unique_ptr<live_report> made(new live_report());
  if (!options.run.log.file.empty()) return made;
  // A bar is in the way: its line is cleared, and drawn again with the next progress.
  const auto over_bar = [before = made->terminal_ ? "\r\x1b[K" : ""](std::string_view line) {
    say(fmt::format("{}{}", before, line));
  };
  made->log_ = TROUPE_TRY(log_writer::open({.format = options.run.log.format, .output = over_bar}));
  return made;
}

evaluation_hooks live_report::hooks() {
  evaluation_hooks made{.on_progress = [this](const progress_update& update) { show(update); }, .on_log = {}};
  if (log_) made.on_log = [this](const log_record& record) { log_->write(record); };
  return made;
}

void live_report::show(const progress_update& update) {
  const clock::time_point now = clock::now();
  if (!begin_) begin_ = now;
  const double elapsed = std::chrono::duration<double>(now - *begin_).count();
  const std::string due = printer_.update(
      {update.samples_done, update.samples_total, elapsed, update.samples_per_second, update.faults_injected});
  if (!due.empty()) say(due);
}

void live_report::finish() {
  log_.reset();
  const std::string last = printer_.finish();
  if (!last.empty()) say(last);
}

}  // namespace troupe::cli
