#include "runtime/process/hosted_worker.hpp"

#include <csignal>
#include <utility>

namespace troupe {

hosted_worker::hosted_worker(std::string name, std::uint32_t rank, log_function log, host_place home)
    : rank_(rank), log_(std::move(log)), home_(std::move(home)), name_(std::move(name)) {}

std::string hosted_worker::name() const {
  const std::lock_guard lock{mutex_};
  return name_;
}

bool hosted_worker::has_stage() const {
  const std::lock_guard lock{mutex_};
  return !stage_.empty();
}

void hosted_worker::rename(std::string stage) {
  const std::lock_guard lock{mutex_};
  name_ = stage;
  stage_ = std::move(stage);
}

void hosted_worker::kill(std::string why) {
  {
    const std::lock_guard lock{mutex_};
    if (killed_for_.empty()) killed_for_ = std::move(why);
  }
  end_now();
}

std::string hosted_worker::killed_for() const {
  const std::lock_guard lock{mutex_};
  return killed_for_;
}

std::string hosted_worker::end_of(const exit_report& report) const {
  const bool was_killed = report.kind == exit_kind::signalled && report.value == SIGKILL;
  const std::string reason = was_killed ? killed_for() : std::string{};
  return reason.empty() ? report.describe() : report.describe(reason + ", and was killed");
}

void hosted_worker::log_end(const exit_report& report, const std::string& when) {
  {
    const std::lock_guard lock{mutex_};
    if (std::exchange(is_end_logged_, true)) return;
  }
  log(log_level::warning, when + ": " + end_of(report));
}

void hosted_worker::log(log_level level, const std::string& text) const {
  say(level, "worker " + std::to_string(rank_) + " (" + place() + ") " + text);
}

void hosted_worker::say(log_level level, std::string text) const {
  if (!log_) return;
  log_record record{level, std::move(text), rank_};
  {
    const std::lock_guard lock{mutex_};
    record.stage = stage_;
  }
  log_(std::move(record));
}

}  // namespace troupe
