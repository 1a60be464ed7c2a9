#include "runtime/launcher/launcher_loop.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/launcher/driver_process.hpp"
#include <troupe/log_record.hpp>

namespace troupe {
namespace {

using std::chrono::steady_clock;

constexpr int signals_until_kill = 3;

int status_of_end(const exit_report& report) {
  switch (report.kind) {
    case exit_kind::exited:
      return report.value;
    case exit_kind::signalled:
      return 128 + report.value;
    case exit_kind::lost:
    case exit_kind::unknown:
      break;
  }
  return 1;
}

}  // namespace

expected<launch_end> launcher_loop::run() {
  while (phase_ != launch_phase::leaving || (!agents_->has_ended() && steady_clock::now() < *leave_by_)) {
    wait_for_events();
    obey_signals();
    hear_driver();
    look_at_agents(steady_clock::now());
    if (kill_at_ && steady_clock::now() >= *kill_at_) {
      is_grace_over_ = true;
      kill_driver();
    }
    if (const auto end = driver_->end(); end && phase_ != launch_phase::leaving) on_driver_end(*end);
  }
  host_->stop(steady_clock::now() + limits::worker_reap_time_at_exit, limits::launch_kill_grace);
  host_.reset();
  return conclude();
}

void launcher_loop::ring() {
  const std::uint64_t one = 1;
  // refused only where it rings already
  [[maybe_unused]] const auto written = ::write(bell_.get(), &one, sizeof one);
}

void launcher_loop::wait_for_events() {
  const auto wanted = static_cast<short>(channel_.has_more_to_send() ? POLLIN | POLLOUT : POLLIN);
  std::array<pollfd, 3> waited = {
      {{signals_.fd(), POLLIN, 0}, {is_channel_open_ ? channel_.fd() : -1, wanted, 0}, {bell_.get(), POLLIN, 0}}};
  ::poll(waited.data(), waited.size(), poll_timeout());
  std::uint64_t rings = 0;
  [[maybe_unused]] const auto got = ::read(bell_.get(), &rings, sizeof rings);
}

int launcher_loop::poll_timeout() const {
  std::optional<time_point> next = agents_->wakes_at();
  for (const auto& at : {kill_at_, leave_by_}) {
    if (at && (!next || *at < *next)) next = at;
  }
  if (!next) return -1;
  const auto now = steady_clock::now();
  if (*next <= now) return 0;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - now).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void launcher_loop::obey_signals() {
  while (const auto signal = signals_.take()) on_signal(*signal);
}

void launcher_loop::on_signal(int signal) {
  ++signals_taken_;
  if (phase_ == launch_phase::leaving) {
    leave_by_ = steady_clock::now();
    return;
  }
  if (signals_taken_ >= signals_until_kill) return kill_driver();
  if (std::exchange(is_told_by_node_, false) && signal == SIGTERM) return;
  drain(signal);
}

void launcher_loop::on_end_asked(const std::string& node) {
  if (phase_ != launch_phase::running) return;
  request_.say(to_string(log_record{.level = log_level::warning,
                                    .text = "it is about to be taken away (SIGTERM): the run ends with what is done",
                                    .stage = node}) +
               "\n");
  is_told_by_node_ = true;
  drain(SIGTERM);
}

void launcher_loop::drain(int signal) {
  if (phase_ == launch_phase::running) {
    phase_ = launch_phase::draining;
    kill_at_ = steady_clock::now() + request_.setup.grace;
  }
  tell_driver(launch_stop{signal});
  host_->kill(*driver_id_, signal == SIGINT ? SIGINT : SIGTERM);
}

void launcher_loop::hear_driver() {
  if (is_channel_open_ && channel_.has_more_to_send() && !channel_.flush()) is_channel_open_ = false;
  while (is_channel_open_ && phase_ != launch_phase::leaving) {
    const auto message = channel_.receive();
    if (!message) return give_up(message.error());
    if (channel_.is_closed()) is_channel_open_ = false;
    if (!*message) return;
    obey(**message);
  }
}

void launcher_loop::obey(const launch_message& message) {
  if (const auto* ticket = std::get_if<launch_ticket>(&message)) {
    const auto is_it = [&](const node_slots& node) { return node.name == ticket->node; };
    if (std::ranges::any_of(request_.setup.nodes, is_it)) return agents_->start(*ticket);
    return give_up({error_code::wire_malformed, "launch channel",
                    fmt::format("the driver has a ticket for {}, which is no node of the launch", ticket->node), ""});
  }
  if (const auto* joined = std::get_if<launch_joined>(&message)) agents_->on_joined(joined->node);
  if (const auto* asked = std::get_if<launch_end_asked>(&message)) on_end_asked(asked->node);
}

/// What the driver says is no message: there is no way to go on with it.
void launcher_loop::give_up(error why) {
  is_channel_open_ = false;
  if (!failure_) failure_ = std::move(why);
  kill_driver();
}

void launcher_loop::look_at_agents(time_point now) {
  for (launch_agent_failed& failed : agents_->look(now)) {
    request_.say(to_string(log_record{
                     .level = log_level::warning, .text = "no agent: " + failed.why.cause, .stage = failed.node}) +
                 "\n");
    driver_->on_line_of_another();
    tell_driver(failed);
    if (!first_failed_) first_failed_ = std::move(failed);
  }
}

void launcher_loop::tell_driver(const launch_message& message) {
  // one that does not listen is no Troupe program, or is at its end
  if (is_channel_open_ && !channel_.send(message)) is_channel_open_ = false;
}

void launcher_loop::kill_driver() {
  kill_at_.reset();
  if (phase_ == launch_phase::leaving || phase_ == launch_phase::killed) return;
  phase_ = launch_phase::killed;
  host_->kill(*driver_id_, SIGKILL);
}

void launcher_loop::on_driver_end(const exit_report& report) {
  phase_ = launch_phase::leaving;
  driver_end_ = report;
  kill_at_.reset();
  leave_by_ = steady_clock::now() + limits::launch_leave_time;
  agents_->release();
}

launch_end launcher_loop::conclude() const {
  launch_end end;
  const exit_report& report = *driver_end_;
  end.status = status_of_end(report);
  if (failure_) {
    end.why = failure_;
    end.status = std::max(end.status, 1);
    return end;
  }
  const bool has_spoken = report.kind == exit_kind::exited && !driver_->was_followed() && !first_failed_;
  if (end.status == 0 || has_spoken) return end;
  std::string cause = report.outcome();
  if (is_grace_over_) {
    cause += fmt::format(": it did not end within --grace, {:g} s after the first signal",
                         std::chrono::duration<double>(request_.setup.grace).count());
  }
  std::string fix;
  if (first_failed_) {
    cause += fmt::format("; no agent on node {}: {}", first_failed_->node, first_failed_->why.cause);
    fix = first_failed_->why.fix;
  }
  end.why = error{error_code::process_failed, request_.command.front(), std::move(cause), std::move(fix)};
  return end;
}

}  // namespace troupe
