#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "runtime/launch/launch_channel.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/launcher/stop_signals.hpp"
#include "runtime/process/process_host.hpp"

namespace troupe {

/// The loop of run_launch(): one thread that waits for signals, the driver's messages and ends of processes.
///
///   running -> draining -> killed -> leaving -> (ended)
///
/// draining: told to end, the driver may finish until kill_at_. killed: SIGKILL is sent. leaving: the driver has ended,
/// from any of the others; agents may leave until leave_by_.
class launcher_loop {
 public:
  [[nodiscard]] static expected<std::unique_ptr<launcher_loop>> make(launch_request request);
  launcher_loop(const launcher_loop&) = delete;
  launcher_loop& operator=(const launcher_loop&) = delete;
  /// Kills what still runs.
  ~launcher_loop();

  [[nodiscard]] expected<launch_end> run();

 private:
  using time_point = std::chrono::steady_clock::time_point;
  enum class launch_phase : std::uint8_t { running, draining, killed, leaving };
  class driver_process;

  launcher_loop(launch_request request, stop_signals signals, launcher_channel channel, unique_fd bell)
      : request_(std::move(request)),
        signals_(std::move(signals)),
        channel_(std::move(channel)),
        bell_(std::move(bell)) {}

  [[nodiscard]] expected<void> prepare(unique_fd driver_end);
  [[nodiscard]] expected<void> start_driver(unique_fd driver_end);
  void make_agents();
  void ring();

  void wait_for_events();
  [[nodiscard]] int poll_timeout() const;
  void obey_signals();
  void on_signal(int signal);
  void hear_driver();
  void obey(const launch_message& message);
  void on_end_asked(const std::string& node);
  void drain(int signal);
  void give_up(error why);
  void look_at_agents(time_point now);
  void tell_driver(const launch_message& message);
  void kill_driver();
  void on_driver_end(const exit_report& report);
  [[nodiscard]] launch_end conclude() const;

  launch_request request_;
  stop_signals signals_;
  launcher_channel channel_;
  bool is_channel_open_ = true;
  unique_fd bell_;
  /// Shared with threads of processes, which may tell something as long as the host lives.
  std::shared_ptr<driver_process> driver_;
  std::optional<worker_id> driver_id_;
  std::unique_ptr<process_host> host_;
  std::unique_ptr<agent_starter> agents_;

  launch_phase phase_ = launch_phase::running;
  int signals_taken_ = 0;
  /// A node was told to end before this launcher was: a scheduler may tell all parts of a launch, in any order.
  bool is_told_by_node_ = false;
  bool is_grace_over_ = false;
  std::optional<time_point> kill_at_;
  std::optional<time_point> leave_by_;
  std::optional<exit_report> driver_end_;
  std::optional<error> failure_;                     ///< of the launcher itself, for which the driver was killed
  std::optional<launch_agent_failed> first_failed_;  ///< of the agents
};

}  // namespace troupe
