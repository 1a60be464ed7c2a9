#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/launcher/agent_starter.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/process/process_host.hpp"

namespace troupe {

/// How nodes are reached and what runs there.
struct ssh_options {
  /// The program, which find_program() has found, and what stands before HOST: {"/usr/bin/ssh", "-o", "BatchMode=yes"}.
  std::vector<std::string> command;
  /// Path of the agent's program, the same on all nodes.
  std::string agent;
  /// Working directory of the agent.
  std::string directory;
  /// No node is tried again later than this.
  std::chrono::steady_clock::time_point retry_until;
};

/// The words of OpenSSH's command before HOST: no questions, no keys of the user's agent for the node, and no longer
/// wait for a connection than `patience`. All else is as the user's configuration has it.
std::vector<std::string> openssh_words(std::string program, std::chrono::milliseconds patience);

/// What the shell of the node is given: it changes to the directory and becomes the agent, which tells its error as
/// data (runtime/process/error_line.hpp).
std::string remote_command(const ssh_options& options);

/// Told on the process host's thread; must not wait.
struct ssh_listener {
  /// A line that ssh or the agent of the node has written.
  std::function<void(const std::string& node, std::string_view line)> on_line;
  /// look() has something to do.
  std::function<void()> on_change;
};

/// Agents that are started by one ssh process each. The ticket goes to its standard input, which stays open as long as
/// the agent may live, and stands in no argument and no variable. A name that does not resolve yet is tried again.
class ssh_agents final : public agent_starter {
 public:
  /// `host` outlives this object; all of its processes have ended when this object is destroyed.
  ssh_agents(process_host& host, ssh_options options, ssh_listener listener);
  ~ssh_agents() override;

  void expect(const std::string& node) override;
  void start(const launch_ticket& ticket) override;
  void on_joined(const std::string& node) override;
  std::vector<launch_agent_failed> look(time_point now) override;
  [[nodiscard]] std::optional<time_point> wakes_at() const override;
  void release() override;
  [[nodiscard]] bool has_ended() const override;

 private:
  enum class agent_state : std::uint8_t { waits, runs, joined, ended };
  struct node_agent_process {
    agent_state state = agent_state::ended;
    std::string ticket;
    bool expects_ticket = false;
    time_point started_at;
    std::optional<worker_id> process;
    std::uint64_t attempt = 0;  ///< tells reports of an earlier process from those of this one
    unique_fd input;            ///< of the process; closed, it tells the agent to leave
    time_point retry_at;
    std::chrono::milliseconds pause{};
  };
  struct ended_process;
  class process_reports;
  class output_of_node;

  void run(const std::string& node, node_agent_process& agent);
  [[nodiscard]] expected<void> give_ticket(const node_agent_process& agent) const;
  [[nodiscard]] expected<void> spawn_for(const std::string& node, node_agent_process& agent);
  void on_end(const ended_process& ended, time_point now);
  void fail_agent(const std::string& node, node_agent_process& agent, error why);

  process_host& host_;
  const ssh_options options_;
  const std::shared_ptr<process_reports> reports_;
  std::map<std::string, node_agent_process> agents_;
  std::vector<launch_agent_failed> failed_;
  bool is_released_ = false;
};

}  // namespace troupe
