// The part of process_host that runs on its own thread.
#include <algorithm>
#include <csignal>
#include <exception>
#include <span>
#include <utility>

#include <pthread.h>
#include <unistd.h>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/process/process_host.hpp"

namespace troupe {
namespace {

using std::chrono::steady_clock;

/// Entries for poll(): the bell, and what a start waits for.
constexpr std::size_t before_children = 2;

}  // namespace

void process_host::run() noexcept {
  pthread_setname_np(pthread_self(), "process-host");
  try {
    loop();
  } catch (const std::exception& e) {
    invariant_broken("no exception leaves a process listener", exception_text(e).c_str(), __FILE__, __LINE__);
  } catch (...) {
    invariant_broken("no exception leaves a process listener", "of an unknown type", __FILE__, __LINE__);
  }
}

void process_host::loop() {
  while (obey()) {
    wait_for_events();
    look_at_children();
  }
}

/// What was asked for since the last time. False when the host ends and no child is left, or their time is over.
bool process_host::obey() {
  advance_starts();
  std::unique_lock lock(mutex_);
  const auto now = steady_clock::now();
  if (std::exchange(terminate_, false)) signal_all(SIGTERM);
  if (kill_at_ && now >= *kill_at_ && !std::exchange(killed_, true)) signal_all(SIGKILL);
  if (!end_by_) return true;
  if (now < *end_by_) return !children_.empty() || starting_;
  lock.unlock();
  give_up_children();
  return false;
}

/// As far as they go without waiting.
void process_host::advance_starts() {
  for (auto pending = first_start(); pending; pending = first_start()) {
    auto done = advance(*pending);
    if (!done) return;
    starting_.reset();
    finish_start(*pending, std::move(*done));
  }
}

std::shared_ptr<process_host::pending_start> process_host::first_start() {
  const std::lock_guard lock(mutex_);
  return starts_.empty() ? nullptr : starts_.front();
}

/// Against a start that has not begun.
std::optional<error> process_host::objection_to(const pending_start& pending) {
  const auto refused = [&](std::string cause, std::string fix) {
    return error{error_code::process_failed, pending.request.name, std::move(cause), std::move(fix)};
  };
  const std::lock_guard lock(mutex_);
  if (stopping_) return refused("the run is being stopped", {});
  if (!pending.abandoned && steady_clock::now() < pending.deadline) return std::nullopt;
  return refused("was not started in time", "look at the load of this machine");
}

std::optional<expected<spawned_process>> process_host::advance(const pending_start& pending) {
  if (!starting_) {
    if (auto why = objection_to(pending)) return tl::make_unexpected(std::move(*why));
    starting_ = TROUPE_TRY(starting_process::begin(pending.request, pending.deadline));
  }
  return starting_->look(steady_clock::now());
}

void process_host::finish_start(pending_start& pending, expected<spawned_process> spawned) {
  pending.request.close_descriptors();
  expected<worker_id> result = worker_id{};
  if (spawned) {
    *result = worker_id{++last_id_};
    children_.push_back(
        std::make_unique<child_process>(*result, pending.request.name, std::move(*spawned), pending.listener));
  } else {
    result = tl::make_unexpected(spawned.error());
  }
  {
    const std::lock_guard lock(mutex_);
    starts_.pop_front();
    pending.result = result;
    if (result) {
      alive_.emplace(*result, living{children_.back()->pidfd(), children_.back()->pid()});
      if (pending.abandoned) children_.back()->forget_listener();
      if (pending.abandoned || stopping_) send_signal(children_.back()->pidfd(), SIGKILL);
    }
  }
  changed_.notify_all();
  if (pending.told) pending.told(result);
}

void process_host::signal_all(int signal) {
  for (const auto& child : children_) send_signal(child->pidfd(), signal);
}

void process_host::wait_for_events() {
  polled_.assign(1, {bell_.get(), POLLIN, 0});
  polled_.push_back(starting_ ? starting_->polled() : pollfd{-1, POLLIN, 0});
  for (const auto& child : children_) {
    const auto more = child->polled();
    polled_.insert(polled_.end(), more.begin(), more.end());
  }
  // Interrupted or not: the entries start at 0, and hold the ready events.
  ::poll(polled_.data(), polled_.size(), poll_timeout());
  std::uint64_t rings = 0;
  [[maybe_unused]] const auto got = ::read(bell_.get(), &rings, sizeof(rings));
}

int process_host::poll_timeout() const {
  std::optional<time_point> next;
  const auto consider = [&](const std::optional<time_point>& at) {
    if (at && (!next || *at < *next)) next = at;
  };
  for (const auto& child : children_) consider(child->wakes_at());
  if (starting_) consider(starting_->wakes_at());
  {
    const std::lock_guard lock(mutex_);
    if (!killed_) consider(kill_at_);
    consider(end_by_);
  }
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - steady_clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void process_host::look_at_children() {
  const auto now = steady_clock::now();
  std::span<const pollfd> ready(polled_);
  ready = ready.subspan(before_children);
  for (const auto& child : children_) {
    child->look(ready.first<child_process::polled_fds>(), now);
    ready = ready.subspan(child_process::polled_fds);
  }
  const auto ended = [](const auto& child) { return child->finished(); };
  if (std::ranges::none_of(children_, ended)) return;
  const std::lock_guard lock(mutex_);
  for (const auto& child : children_) {
    if (child->finished()) alive_.erase(child->id());
  }
  std::erase_if(children_, ended);
  changed_.notify_all();
}

/// A process that survives SIGKILL hangs in a system call; it ends with it, and its new parent reaps it.
void process_host::give_up_children() {
  starting_.reset();
  for (const auto& child : children_) child->give_up();
  const std::lock_guard lock(mutex_);
  alive_.clear();
  children_.clear();
}

}  // namespace troupe
