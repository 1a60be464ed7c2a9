#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "runtime/process/fd_channel.hpp"
#include "runtime/process/process_host.hpp"
#include "runtime/process/process_listener.hpp"
#include <troupe/log_record.hpp>

namespace troupe {

/// One worker process as its driver has it: its name in logs, its channel, and the way to end it. Threads: any.
class worker_process final : public process_listener {
 public:
  struct reports {
    /// What it prints, with its rank and, once it has one, its stage, on the host's thread; and log(), on any.
    std::function<void(log_record line)> on_line;
    /// Once, after all output. On the host's thread.
    std::function<void(const exit_report&)> on_exit;
  };

  worker_process(std::string name, fd_channel channel, process_host& host, std::uint32_t rank = 0)
      : host_(host), rank_(rank), name_(std::move(name)), channel_(std::move(channel)) {}

  /// Before it is started.
  void listen(reports told) { told_ = std::move(told); }
  /// Once it was.
  void started(worker_id id);

  /// Of its stage, once it has one.
  [[nodiscard]] std::string name() const;
  /// Its number among the workers of the run.
  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  /// Nothing before it was started and once it has ended.
  [[nodiscard]] std::optional<pid_t> pid() const;
  [[nodiscard]] bool has_stage() const;
  /// It becomes this stage.
  void rename(std::string stage);

  /// Copies of the descriptors go to the worker under this tag. E0614, also if the worker takes none for
  /// limits::channel_timeout.
  [[nodiscard]] expected<void> send(const std::string& tag, std::span<const int> descriptors);

  /// A record of the log, about "worker 3 (process 4711)": "was started". With its rank and, once it has one, its
  /// stage.
  void log(log_level level, pid_t pid, const std::string& text) const;
  /// The same of its end, as a warning: `when` and how it ended. Only the first time.
  void log_end(const exit_report& report, const std::string& when);
  /// How it ended, in words; a kill by its owner with the reason, as it may have died of something else just before.
  [[nodiscard]] std::string end_of(const exit_report& report) const;

  /// SIGKILL. `why`, where there is one, is what on_exit's reader finds in killed_for(); the first one stays.
  void kill(std::string why = {});
  [[nodiscard]] std::string killed_for() const;

  void on_output(worker_id worker, output_stream stream, std::string_view line) override;
  void on_exit(const exit_report& report) override;

 private:
  process_host& host_;
  const std::uint32_t rank_;
  reports told_;
  mutable std::mutex mutex_;
  std::string name_;
  std::string stage_;
  std::string killed_for_;
  bool is_end_logged_ = false;
  std::optional<worker_id> id_;
  bool kill_when_started_ = false;
  std::mutex channel_mutex_;
  fd_channel channel_;
};

}  // namespace troupe
