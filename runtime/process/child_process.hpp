#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <poll.h>

#include "runtime/process/line_splitter.hpp"
#include "runtime/process/process_listener.hpp"
#include "runtime/process/spawn.hpp"

namespace troupe {

/// One worker as its host sees it: runs, has died and is held by its tracer, is reaped but may still have output under
/// way, is finished. Reads its output, reaps it, tells its listener. Only the host's thread uses it. Nothing blocks.
class child_process {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  /// What poll() has to look at: the pidfd and both pipes, -1 for those that are done.
  static constexpr std::size_t polled_fds = 3;

  /// No listener: the worker is watched and reaped without reports.
  child_process(worker_id id, std::string name, spawned_process process, std::shared_ptr<process_listener> listener);
  child_process(const child_process&) = delete;
  child_process& operator=(const child_process&) = delete;
  /// Finished by then, or given up by the host.
  ~child_process() = default;

  [[nodiscard]] std::array<pollfd, polled_fds> polled() const;

  /// After poll() of polled(): notices the death and reads what there is, up to a bound per turn. Tells on_exit() when
  /// both pipes have ended, or worker_output_drain_time after the death.
  void look(std::span<const pollfd, polled_fds> ready, time_point now);

  /// Tells on_exit() that the way it ended is unknown, as the system did not end it in time.
  void give_up();

  /// After on_exit().
  [[nodiscard]] bool finished() const noexcept { return finished_; }
  /// When look() has to be called even if nothing is to be polled.
  [[nodiscard]] std::optional<time_point> wakes_at() const noexcept { return output_until_ ? output_until_ : reap_at_; }
  [[nodiscard]] worker_id id() const noexcept { return report_.worker; }
  [[nodiscard]] int pidfd() const noexcept { return process_.pidfd.get(); }
  [[nodiscard]] pid_t pid() const noexcept { return process_.pid; }
  /// After an abandoned start: the listener is not told.
  void forget_listener() noexcept { listener_.reset(); }

 private:
  bool read_turn(output_stream stream);
  void end_of(output_stream stream);
  void on_line(output_stream stream, std::string_view line);
  void on_error(const error& told);
  void keep(std::string_view line);
  bool reap();
  void finish();

  unique_fd& pipe_of(output_stream stream) noexcept;
  line_splitter& splitter_of(output_stream stream) noexcept;

  spawned_process process_;
  std::shared_ptr<process_listener> listener_;
  exit_report report_;
  line_splitter output_lines_;
  line_splitter error_lines_;
  std::deque<std::string> tail_;
  std::optional<time_point> died_at_;
  std::optional<time_point> reap_at_;       ///< it has died, and a tracer holds it
  std::optional<time_point> output_until_;  ///< set once it is reaped, or given up to its tracer
  bool finished_ = false;
};

}  // namespace troupe
