#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/link/message_link.hpp"
#include "runtime/local_host/local_worker.hpp"
#include "runtime/process/worker_host.hpp"

namespace troupe {

/// Workers that are processes of this very program on this host (docs/processes.md). Each inherits its channel and its
/// link, and nothing else.
class local_host final : public worker_host {
 public:
  /// `log` gets what workers print, their starts, and the ends of those without a stage. E0614.
  [[nodiscard]] static expected<std::shared_ptr<local_host>> create(const liveness& times, log_function log);

  [[nodiscard]] expected<hosted_worker_ptr> start(std::shared_ptr<worker_listener> listener) override;
  void close() noexcept override { closed_ = true; }
  bool stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace) override;

 private:
  local_host(std::unique_ptr<link_loop> links, std::unique_ptr<process_host> host, log_function log);
  [[nodiscard]] expected<std::shared_ptr<local_worker>> make_worker(unique_fd& channel, unique_fd& link);
  void log_end(local_worker& ended, const exit_report& report) const;
  [[nodiscard]] spawn_request request(std::string name, unique_fd channel, unique_fd link) const;

  const log_function log_;
  const std::vector<std::string> arguments_;
  std::atomic<std::uint32_t> launched_{0};
  std::atomic<bool> closed_{false};
  const std::unique_ptr<link_loop> links_;
  /// Last: its thread uses the others.
  const std::unique_ptr<process_host> host_;
};

}  // namespace troupe
