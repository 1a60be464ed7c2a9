#include "live_report.hpp"

#include <fmt/format.h>

#include "messages/try.hpp"
#include "output.hpp"
#include "runtime/report/single_value.hpp"

namespace troupe::cli {

live_report::live_report()
    : terminal_(stderr_is_terminal()), printer_({.terminal = terminal_, .width = output_width()}) {}

expected<std::unique_ptr<live_report>> live_report::start(const log_options& options) {
  std::unique_ptr<live_report> made(new live_report());
  if (!options.file.empty()) return made;
  // A bar is in the way: its line is cleared, and drawn again with the next progress.
  const auto over_bar = [before = made->terminal_ ? "\r\x1b[K" : ""](std::string_view line) {
    say(fmt::format("{}{}", before, line));
  };
  made->log_ = TROUPE_TRY(log_writer::open({.format = options.format, .output = over_bar}));
  return made;
}

evaluation_hooks live_report::hooks() {
  evaluation_hooks made{.on_progress = [this](const progress_update& update) { show(update); }, .on_log = {}};
  if (log_) made.on_log = [this](const log_record& record) { log_->write(record); };
  return made;
}

train_hooks live_report::training_hooks() {
  return {.on_progress = [this](const train_progress& progress) { show(progress); }, .on_log = hooks().on_log};
}

void live_report::show(const progress_update& update) {
  draw({.done = update.samples_done,
        .total = update.samples_total,
        .units_per_second = update.samples_per_second,
        .faults = update.faults_injected});
}

void live_report::show(const train_progress& progress) {
  if (progress.evaluation != nullptr) {
    std::string line = fmt::format("{}step {}:", terminal_ ? "\r\x1b[K" : "", progress.evaluation->step);
    for (const metric_value& each : progress.evaluation->metrics) {
      if (has_single_value(each)) line += fmt::format(" {} {:.5g}", each.name, each.value());
    }
    say(line + "\n");
  }
  const double seconds = begin_ ? std::chrono::duration<double>(clock::now() - *begin_).count() : 0;
  const std::uint64_t before = first_step_.value_or(progress.steps_done);
  first_step_ = before;
  draw({.done = progress.steps_done,
        .total = progress.steps_total,
        .units_per_second = seconds > 0 ? static_cast<double>(progress.steps_done - before) / seconds : 0,
        .faults = progress.faults_injected,
        .unit = "steps",
        .note = fmt::format("epoch {}, loss {:.4g}", progress.epoch, progress.loss)});
}

void live_report::draw(progress_state state) {
  const clock::time_point now = clock::now();
  if (!begin_) begin_ = now;
  state.elapsed_seconds = std::chrono::duration<double>(now - *begin_).count();
  const std::string due = printer_.update(state);
  if (!due.empty()) say(due);
}

void live_report::finish() {
  log_.reset();
  const std::string last = printer_.finish();
  if (!last.empty()) say(last);
}

}  // namespace troupe::cli
