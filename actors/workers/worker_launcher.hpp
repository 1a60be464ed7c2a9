#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/workers/worker_process.hpp"

namespace troupe {

struct launched_worker {
  std::shared_ptr<worker_process> process;
  /// The driver's end of its link, for offer_link().
  unique_fd link;
};

/// Makes worker processes of this very program. Each inherits its channel and its link, and nothing else. Threads: any.
class worker_launcher {
 public:
  /// `log` gets what workers print, their starts, and the ends of those without a stage. Errors: E0614.
  [[nodiscard]] static expected<std::unique_ptr<worker_launcher>> create(log_function log);

  /// Returns when its program runs. `on_exit`: see worker_process. E0614.
  [[nodiscard]] expected<launched_worker> launch(
      std::function<void(const std::shared_ptr<worker_process>&, const exit_report&)> on_exit);

  /// From now on launch() gives E0608.
  void close() noexcept { closed_ = true; }
  /// Ends all workers; nothing can be launched any more. True if none is left at `deadline`.
  bool stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace);

 private:
  worker_launcher(std::unique_ptr<process_host> host, log_function log);
  void log_end(worker_process& ended, const exit_report& report) const;
  [[nodiscard]] spawn_request request(std::string name, unique_fd channel, unique_fd link) const;

  const log_function log_;
  const std::vector<std::string> arguments_;
  std::atomic<std::uint32_t> launched_{0};
  std::atomic<bool> closed_{false};
  /// Last: its thread uses the others.
  const std::unique_ptr<process_host> host_;
};

}  // namespace troupe
