#include "runtime/local_host/local_worker.hpp"

#include <csignal>
#include <utility>
#include <vector>

#include <poll.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe {
namespace {

/// A worker that ends by itself says why in this form (end_worker). That is no error of the run, which may go on.
log_level level_of(output_stream from, std::string_view line) {
  const bool says_why = from == output_stream::standard_error && line.starts_with("error E");
  return says_why ? log_level::warning : log_level::info;
}

}  // namespace

local_worker::local_worker(std::string name, std::uint32_t rank, log_function log, parts made)
    : hosted_worker(std::move(name), rank, std::move(log), std::move(made.home)),
      host_(made.host),
      page_(std::move(made.page)),
      on_exit_(std::move(made.on_exit)),
      logs_start_(made.logs_start),
      link_(std::move(made.link)),
      channel_(std::move(made.channel)) {}

void local_worker::tell(std::shared_ptr<worker_listener> listener) {
  const std::lock_guard lock{mutex_};
  listener_ = std::move(listener);
}

void local_worker::started(worker_id id) {
  const auto pid = host_.pid_of(id);
  {
    const std::lock_guard lock{mutex_};
    id_ = id;
    if (pid) pid_ = pid;
    if (kill_when_started_) static_cast<void>(host_.kill(id, SIGKILL));
  }
  if (pid && logs_start_) log(log_level::debug, "was started");
  const hosted_worker_ptr self = shared_from_this();
  if (listener_) listener_->started(self);
  link_->start({.on_message = [self, to = listener_](codec::bytes message) { to->said(self, std::move(message)); },
                .on_lost = [self, to = listener_](const error&) { to->link_lost(self); }});
}

void local_worker::not_started(const error& why) {
  exit_report report;
  report.name = hosted_worker::name();
  report.kind = exit_kind::lost;
  report.note = "it could not be started";
  report.told = why;
  on_exit(report);
}

std::string local_worker::place() const {
  const auto known = pid();
  return "process " + (known ? std::to_string(*known) : "unknown");
}

std::optional<std::uint32_t> local_worker::pid() const {
  const std::lock_guard lock{mutex_};
  return pid_ ? std::optional(static_cast<std::uint32_t>(*pid_)) : std::nullopt;
}

void local_worker::send(codec::bytes message) {
  link_->send(std::move(message));
}

expected<void> local_worker::hand_over(const std::string& name, std::span<const blob> blobs) {
  std::vector<int> descriptors;
  for (const blob& each : blobs) descriptors.push_back(each.descriptor());
  const auto deadline = std::chrono::steady_clock::now() + limits::channel_timeout;
  const std::lock_guard lock{channel_mutex_};
  while (std::chrono::steady_clock::now() < deadline) {
    const auto sent = TROUPE_TRY(channel_.send(name, descriptors));
    if (sent == channel_status::done) return {};
    if (sent == channel_status::closed) {
      return fail(error_code::process_failed, hosted_worker::name(), "it closed its channel");
    }
    pollfd room{channel_.fd(), POLLOUT, 0};
    static_cast<void>(::poll(&room, 1, 100));
  }
  return fail(error_code::process_failed, hosted_worker::name(), "it takes no descriptors");
}

void local_worker::end_now() {
  const std::lock_guard lock{mutex_};
  if (id_) {
    static_cast<void>(host_.kill(*id_, SIGKILL));
  } else {
    kill_when_started_ = true;
  }
}

bool local_worker::signal(int number) {
  const std::lock_guard lock{mutex_};
  return id_ && host_.kill(*id_, number);
}

void local_worker::on_output(worker_id, output_stream from, std::string_view line) {
  say(level_of(from, line), std::string(line));
}

void local_worker::on_exit(const exit_report& report) {
  {
    const std::lock_guard lock{mutex_};
    if (report.pid != 0) pid_ = report.pid;
  }
  if (on_exit_) on_exit_(*this, report);
  link_->peer_has_ended(
      [self = hosted_worker_ptr(shared_from_this()), to = listener_, report] { to->exited(self, report); });
}

}  // namespace troupe
