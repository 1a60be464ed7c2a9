#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "runtime/link/message_link.hpp"
#include "runtime/process/fd_channel.hpp"
#include "runtime/process/process_host.hpp"
#include "runtime/process/process_listener.hpp"
#include "runtime/process/worker_host.hpp"
#include "runtime/telemetry/shared_page.hpp"

namespace troupe {

/// A worker that is a process of this host: messages go over its link, blobs as descriptors over its channel, and its
/// page lies in memory that both have mapped.
class local_worker final : public hosted_worker,
                           public process_listener,
                           public std::enable_shared_from_this<local_worker> {
 public:
  struct parts {
    fd_channel channel;
    std::shared_ptr<message_link> link;
    shared_page page;
    /// Outlives it.
    process_host& host;
    /// Once, after all output, on the host's thread; may be null.
    std::function<void(local_worker& ended, const exit_report&)> on_exit = nullptr;
    host_place home = {};
    bool logs_start = true;
  };
  local_worker(std::string name, std::uint32_t rank, log_function log, parts made);

  /// Before it is started.
  void tell(std::shared_ptr<worker_listener> listener);
  /// Once it was: from now on what it says is told. Its end is, in any case.
  void started(worker_id id);
  /// It will not be: its end is told, as lost.
  void not_started(const error& why);

  [[nodiscard]] std::string place() const override;
  [[nodiscard]] std::optional<std::uint32_t> pid() const override;
  void send(codec::bytes message) override;
  [[nodiscard]] expected<void> hand_over(const std::string& name, std::span<const blob> blobs) override;
  [[nodiscard]] stage_telemetry telemetry() const override { return page_.page()->telemetry(); }
  [[nodiscard]] std::optional<blob> page() const override { return page_.memory(); }
  [[nodiscard]] bool signal(int number) override;

  void on_output(worker_id worker, output_stream stream, std::string_view line) override;
  void on_exit(const exit_report& report) override;

 private:
  void end_now() override;

  process_host& host_;
  const shared_page page_;
  const std::function<void(local_worker&, const exit_report&)> on_exit_;
  const bool logs_start_;
  const std::shared_ptr<message_link> link_;
  mutable std::mutex mutex_;
  std::shared_ptr<worker_listener> listener_;
  std::optional<worker_id> id_;
  /// Once it is known; it stays after the end.
  std::optional<pid_t> pid_;
  bool kill_when_started_ = false;
  std::mutex channel_mutex_;
  fd_channel channel_;
};

}  // namespace troupe
