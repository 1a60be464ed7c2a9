#include "actors/workers/worker_process.hpp"

#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <poll.h>

#include "messages/limits.hpp"

namespace troupe {
namespace {

/// A worker that ends by itself says why in this form (end_worker). That is no error of the run, which may go on.
log_level level_of(output_stream from, std::string_view line) {
  const bool says_why = from == output_stream::standard_error && line.starts_with("error E");
  return says_why ? log_level::warning : log_level::info;
}

}  // namespace

void worker_process::started(worker_id id) {
  const std::lock_guard lock{mutex_};
  id_ = id;
  if (kill_when_started_) static_cast<void>(host_.kill(id, SIGKILL));
}

std::string worker_process::name() const {
  const std::lock_guard lock{mutex_};
  return name_;
}

bool worker_process::has_stage() const {
  const std::lock_guard lock{mutex_};
  return !stage_.empty();
}

std::optional<pid_t> worker_process::pid() const {
  const std::lock_guard lock{mutex_};
  return id_ ? host_.pid_of(*id_) : std::nullopt;
}

void worker_process::rename(std::string stage) {
  const std::lock_guard lock{mutex_};
  name_ = stage;
  stage_ = std::move(stage);
}

expected<void> worker_process::send(const std::string& tag, std::span<const int> descriptors) {
  const auto deadline = std::chrono::steady_clock::now() + limits::channel_timeout;
  const std::lock_guard lock{channel_mutex_};
  while (std::chrono::steady_clock::now() < deadline) {
    const auto sent = channel_.send(tag, descriptors);
    if (!sent) return tl::make_unexpected(sent.error());
    if (*sent == channel_status::done) return {};
    if (*sent == channel_status::closed) return fail(error_code::process_failed, name(), "it closed its channel");
    pollfd room{channel_.fd(), POLLOUT, 0};
    static_cast<void>(::poll(&room, 1, 100));
  }
  return fail(error_code::process_failed, name(), "it takes no descriptors");
}

void worker_process::kill(std::string why) {
  const std::lock_guard lock{mutex_};
  if (killed_for_.empty()) killed_for_ = std::move(why);
  if (id_) {
    static_cast<void>(host_.kill(*id_, SIGKILL));
  } else {
    kill_when_started_ = true;
  }
}

std::string worker_process::killed_for() const {
  const std::lock_guard lock{mutex_};
  return killed_for_;
}

void worker_process::log(log_level level, pid_t pid, const std::string& text) const {
  if (!told_.on_line) return;
  log_record record{level, fmt::format("worker {} (process {}) {}", rank_, pid, text), rank_};
  {
    const std::lock_guard lock{mutex_};
    record.stage = stage_;
  }
  told_.on_line(std::move(record));
}

void worker_process::log_end(const exit_report& report, const std::string& when) {
  {
    const std::lock_guard lock{mutex_};
    if (std::exchange(is_end_logged_, true)) return;
  }
  log(log_level::warning, report.pid, when + ": " + end_of(report));
}

std::string worker_process::end_of(const exit_report& report) const {
  const bool was_killed = report.kind == exit_kind::signalled && report.value == SIGKILL;
  const std::string reason = was_killed ? killed_for() : std::string{};
  return reason.empty() ? report.describe() : report.describe(reason + ", and was killed");
}

void worker_process::on_output(worker_id, output_stream from, std::string_view line) {
  if (!told_.on_line) return;
  log_record record{level_of(from, line), std::string(line), rank_};
  {
    const std::lock_guard lock{mutex_};
    record.stage = stage_;
  }
  told_.on_line(std::move(record));
}

void worker_process::on_exit(const exit_report& report) {
  if (told_.on_exit) told_.on_exit(report);
}

}  // namespace troupe
