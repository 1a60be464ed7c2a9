#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <troupe/actors/secure/secure_config.hpp>
#include <troupe/actors/workers/worker_process.hpp>
#include <troupe/runtime/process/memory_file.hpp>

namespace troupe {

/// Makes worker processes of this very program, with the credentials of this run. Threads: any, but for listen_at().
class worker_launcher {
 public:
  /// `log` gets what workers print; from any thread. Errors: E0601, E0614.
  [[nodiscard]] static expected<std::unique_ptr<worker_launcher>> create(std::function<void(std::string)> log);

  /// What the driver shows; the files last as long as this.
  [[nodiscard]] secure_identity identity() const;
  /// Where workers find the driver, before the first launch.
  void listen_at(std::uint16_t port) noexcept { port_ = port; }

  /// Returns when its program runs. `on_exit`: see worker_process. E0614.
  [[nodiscard]] expected<std::shared_ptr<worker_process>> launch(
      std::function<void(const std::shared_ptr<worker_process>&, const exit_report&)> on_exit);

  /// From now on launch() gives E0608.
  void close() noexcept { closed_ = true; }
  /// Ends all workers; nothing can be launched any more. True if none is left at `deadline`.
  bool stop(std::chrono::steady_clock::time_point deadline, std::chrono::milliseconds grace);

 private:
  struct files {
    memory_file ca;
    memory_file driver_certificate;
    memory_file driver_key;
    memory_file worker_certificate;
    memory_file worker_key;
  };
  worker_launcher(files made, std::unique_ptr<process_host> host, std::function<void(std::string)> log);
  [[nodiscard]] expected<spawn_request> request(std::string name, unique_fd socket, const memory_file& token) const;

  const files files_;
  const std::function<void(std::string)> log_;
  const std::vector<std::string> arguments_;
  const std::unique_ptr<process_host> host_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint32_t> launched_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace troupe
