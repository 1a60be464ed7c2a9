#include "runtime/launcher/ssh_agents.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "messages/error_text.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/launcher/shell_words.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/os/write_all.hpp"

namespace troupe {
namespace {

/// What OpenSSH says; no other of its failures goes away by itself.
constexpr std::string_view unresolved = "Could not resolve hostname";

std::string last_line_of(const exit_report& report) {
  const auto found = std::find_if(report.last_lines.rbegin(), report.last_lines.rend(), [](const std::string& line) {
    return line.find_first_not_of(" \t\r") != std::string::npos;
  });
  if (found == report.last_lines.rend()) return {};
  return found->substr(0, found->find_last_not_of(" \t\r") + 1);
}

/// What the agent told, or else what ssh or the shell said last.
error end_of(const std::string& node, const exit_report& report) {
  const std::string how =
      report.kind == exit_kind::exited ? fmt::format("exit status {}", report.value) : report.outcome();
  if (report.told) return node_failed(node, fmt::format("{} ({})", brief(*report.told), how), report.told->fix);
  const std::string line = last_line_of(report);
  return node_failed(node, line.empty() ? fmt::format("it has ended before its agent has joined ({})", how)
                                        : fmt::format("{} ({})", line, how));
}

bool is_unresolved(const exit_report& report) {
  return report.kind == exit_kind::exited && last_line_of(report).find(unresolved) != std::string::npos;
}

}  // namespace

struct ssh_agents::ended_process {
  std::string node;
  std::uint64_t attempt = 0;
  exit_report report;
};

/// Ends of processes, from the host's thread to the launcher's.
class ssh_agents::process_reports {
 public:
  explicit process_reports(ssh_listener listener) : listener_(std::move(listener)) {}

  void on_line(const std::string& node, std::string_view line) const {
    // OpenSSH ends its own lines as terminals in raw mode need it
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (listener_.on_line) listener_.on_line(node, line);
  }
  void on_end(ended_process ended) {
    {
      const std::lock_guard lock(mutex_);
      ended_.push_back(std::move(ended));
    }
    if (listener_.on_change) listener_.on_change();
  }
  std::vector<ended_process> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(ended_, {});
  }

 private:
  const ssh_listener listener_;
  std::mutex mutex_;
  std::vector<ended_process> ended_;
};

class ssh_agents::output_of_node final : public process_listener {
 public:
  output_of_node(std::string node, std::uint64_t attempt, std::shared_ptr<process_reports> to)
      : node_(std::move(node)), attempt_(attempt), to_(std::move(to)) {}

  void on_output(worker_id, output_stream, std::string_view line) override { to_->on_line(node_, line); }
  void on_exit(const exit_report& report) override { to_->on_end({node_, attempt_, report}); }

 private:
  const std::string node_;
  const std::uint64_t attempt_;
  const std::shared_ptr<process_reports> to_;
};

std::vector<std::string> openssh_words(std::string program, std::chrono::milliseconds patience) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(patience).count();
  return {std::move(program), "-a", "-o", "BatchMode=yes", "-o", fmt::format("ConnectTimeout={}", seconds)};
}

std::string remote_command(const ssh_options& options) {
  return fmt::format("cd {} && exec {} --stdin --error-line", quote_for_shell(options.directory),
                     quote_for_shell(options.agent));
}

ssh_agents::ssh_agents(process_host& host, ssh_options options, ssh_listener listener)
    : host_(host), options_(std::move(options)), reports_(std::make_shared<process_reports>(std::move(listener))) {}

ssh_agents::~ssh_agents() = default;

void ssh_agents::expect(const std::string& node) {
  node_agent_process& agent = agents_[node];
  agent.expects_ticket = true;
  agent.pause = limits::launch_retry_pause_min;
  run(node, agent);
}

void ssh_agents::start(const launch_ticket& ticket) {
  if (is_released_) return;
  node_agent_process& agent = agents_[ticket.node];
  if (std::exchange(agent.expects_ticket, false)) {
    agent.ticket = ticket.text;
    // one that has ended was told of, or will be; one that waits gets it when it is tried again
    if (agent.state == agent_state::runs) static_cast<void>(give_ticket(agent));
    return;
  }
  if (agent.process) host_.kill(*agent.process, SIGKILL);
  agent.ticket = ticket.text;
  agent.pause = limits::launch_retry_pause_min;
  run(ticket.node, agent);
}

void ssh_agents::run(const std::string& node, node_agent_process& agent) {
  ++agent.attempt;
  agent.started_at = std::chrono::steady_clock::now();
  agent.process.reset();
  agent.state = agent_state::runs;
  if (auto started = spawn_for(node, agent); !started) {
    fail_agent(node, agent, node_failed(node, brief(started.error()), started.error().fix));
  }
}

/// It fits the empty pipe, so writing does not wait.
expected<void> ssh_agents::give_ticket(const node_agent_process& agent) const {
  if (const int failed = write_all(agent.input.get(), agent.ticket + "\n"); failed != 0)
    return fail(error_code::process_failed, options_.command.front(), "no ticket: " + errno_text(failed));
  return {};
}

expected<void> ssh_agents::spawn_for(const std::string& node, node_agent_process& agent) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(error_code::process_failed, options_.command.front(), "no pipe: " + errno_text());
  spawn_request request;
  request.standard_input.reset(ends[0]);
  agent.input.reset(ends[1]);
  if (!agent.expects_ticket) {
    TROUPE_TRY(give_ticket(agent));
  }
  request.name = options_.command.front();
  request.program = options_.command.front();
  request.arguments = options_.command;
  request.arguments.push_back(node);
  request.arguments.push_back(remote_command(options_));
  auto started =
      TROUPE_TRY(host_.start(std::move(request), std::make_shared<output_of_node>(node, agent.attempt, reports_)));
  agent.process = started;
  return {};
}

void ssh_agents::on_joined(const std::string& node) {
  const auto found = agents_.find(node);
  if (found == agents_.end() || found->second.state != agent_state::runs) return;
  found->second.state = agent_state::joined;
  found->second.ticket.clear();
}

std::vector<launch_agent_failed> ssh_agents::look(time_point now) {
  for (const ended_process& ended : reports_->take()) on_end(ended, now);
  for (auto& [node, agent] : agents_) {
    if (agent.state == agent_state::waits && agent.retry_at <= now) run(node, agent);
  }
  return std::exchange(failed_, {});
}

void ssh_agents::on_end(const ended_process& ended, time_point now) {
  node_agent_process& agent = agents_.at(ended.node);
  if (ended.attempt != agent.attempt) return;
  const agent_state before = std::exchange(agent.state, agent_state::ended);
  agent.process.reset();
  agent.input.reset();
  if (is_released_) return;
  // its agent has waited for as long as it may: the ticket starts another one
  if (now >= agent.started_at + limits::join_ticket_timeout && std::exchange(agent.expects_ticket, false)) return;
  if (before == agent_state::joined) {
    const bool is_orderly = ended.report.kind == exit_kind::exited && ended.report.value == 0;
    if (!is_orderly) reports_->on_line(ended.node, options_.command.front() + ": " + ended.report.outcome());
  } else if (is_unresolved(ended.report) && now + limits::launch_retry_pause_min < options_.retry_until) {
    agent.state = agent_state::waits;
    // the last try is shortly before the end, however long the pause has become
    agent.retry_at = std::min(now + agent.pause, options_.retry_until - limits::launch_retry_pause_min);
    agent.pause = std::min(2 * agent.pause, limits::launch_retry_pause_max);
  } else {
    fail_agent(ended.node, agent, end_of(ended.node, ended.report));
  }
}

void ssh_agents::fail_agent(const std::string& node, node_agent_process& agent, error why) {
  agent.state = agent_state::ended;
  agent.input.reset();
  agent.ticket.clear();
  failed_.push_back({node, std::move(why)});
}

std::optional<agent_starter::time_point> ssh_agents::wakes_at() const {
  std::optional<time_point> next;
  for (const auto& [_, agent] : agents_) {
    if (agent.state == agent_state::waits && (!next || agent.retry_at < *next)) next = agent.retry_at;
  }
  // a process that could not be started has no end that would be told
  return failed_.empty() ? next : std::optional(time_point::min());
}

void ssh_agents::release() {
  is_released_ = true;
  for (auto& [_, agent] : agents_) {
    agent.input.reset();
    if (agent.state == agent_state::waits) agent.state = agent_state::ended;
    if (agent.expects_ticket && agent.process) host_.kill(*agent.process, SIGKILL);
  }
}

bool ssh_agents::has_ended() const {
  return std::ranges::all_of(agents_, [](const auto& each) { return !each.second.process; });
}

}  // namespace troupe
