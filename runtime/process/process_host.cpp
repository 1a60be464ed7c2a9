#include "runtime/process/process_host.hpp"

#include <algorithm>
#include <csignal>

#include <sys/eventfd.h>
#include <unistd.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/os/blocked_signals.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe {
namespace {

using std::chrono::steady_clock;

/// A parent may have left SIGCHLD ignored, which exec keeps: the kernel would then throw away how workers ended.
void hear_of_children() {
  struct sigaction now {};
  if (::sigaction(SIGCHLD, nullptr, &now) != 0) return;
  const bool is_ignored = (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
  if (!is_ignored && (now.sa_flags & SA_NOCLDWAIT) == 0) return;
  if (is_ignored) now.sa_handler = SIG_DFL;
  now.sa_flags &= ~SA_NOCLDWAIT;
  ::sigaction(SIGCHLD, &now, nullptr);
}

}  // namespace

expected<std::unique_ptr<process_host>> process_host::create() {
  hear_of_children();
  unique_fd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) return fail(error_code::process_failed, "process host", "eventfd: " + errno_text());
  std::unique_ptr<process_host> made(new process_host(std::move(bell)));
  made->thread_ = TROUPE_TRY([&] {
    const blocked_signals none_here;
    return start_thread("process host", [self = made.get()] { self->run(); });
  }());
  return made;
}

process_host::~process_host() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    kill_at_ = steady_clock::now();
    end_by_ = steady_clock::now() + limits::worker_reap_time_at_exit;
  }
  ring();
  thread_.join();
}

std::shared_ptr<process_host::pending_start> process_host::enqueue(pending_start made) {
  auto pending = std::make_shared<pending_start>(std::move(made));
  {
    const std::lock_guard lock(mutex_);
    starts_.push_back(pending);
  }
  ring();
  return pending;
}

void process_host::start_soon(spawn_request request, std::shared_ptr<process_listener> listener, start_result told,
                              time_point deadline) {
  enqueue({std::move(request), std::move(listener), deadline, std::move(told), std::nullopt});
}

expected<worker_id> process_host::start(spawn_request request, std::shared_ptr<process_listener> listener,
                                        time_point deadline) {
  TROUPE_CHECK(std::this_thread::get_id() != thread_.get_id(), "a listener that starts a worker would wait for itself");
  const std::string name = request.name;
  const auto pending = enqueue({std::move(request), std::move(listener), deadline, nullptr, std::nullopt});
  std::unique_lock lock(mutex_);
  if (changed_.wait_until(lock, deadline, [&] { return pending->result.has_value(); })) {
    return std::move(*pending->result);
  }
  pending->abandoned = true;
  return fail(error_code::process_failed, name, "was not started in time", "look at the load of this machine");
}

bool process_host::kill(worker_id worker, int signal) {
  const std::lock_guard lock(mutex_);
  const auto found = alive_.find(worker);
  return found != alive_.end() && send_signal(found->second.pidfd, signal);
}

std::optional<pid_t> process_host::pid_of(worker_id worker) const {
  const std::lock_guard lock(mutex_);
  const auto found = alive_.find(worker);
  return found == alive_.end() ? std::nullopt : std::optional(found->second.pid);
}

bool process_host::stop(time_point deadline, std::chrono::milliseconds grace) {
  TROUPE_CHECK(std::this_thread::get_id() != thread_.get_id(), "a listener that stops its host would wait for itself");
  const auto now = steady_clock::now();
  const auto kill_at = std::min(now + grace, deadline - limits::worker_reap_time);
  {
    const std::lock_guard lock(mutex_);
    if (!stopping_ && kill_at > now) terminate_ = true;
    stopping_ = true;
    kill_at_ = kill_at_ ? std::min(*kill_at_, kill_at) : kill_at;
  }
  ring();
  return await_none_running(deadline);
}

std::size_t process_host::running() const {
  const std::lock_guard lock(mutex_);
  return alive_.size();
}

bool process_host::await_none_running(time_point deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [&] { return starts_.empty() && alive_.empty(); });
}

void process_host::ring() {
  const std::uint64_t one = 1;
  // Refused only if 2^64 - 1 rings wait: then the bell rings anyway.
  [[maybe_unused]] const auto written = ::write(bell_.get(), &one, sizeof(one));
}

}  // namespace troupe
