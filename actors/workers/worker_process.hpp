#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/engine_host.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/telemetry/engine_page.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The process of a worker, as the worker's actor uses it: a real process (serve_worker) or a simulated one. Outlives
/// the actor. Threads: any.
class worker_process {
 public:
  worker_process() = default;
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;
  virtual ~worker_process() = default;

  [[nodiscard]] virtual std::uint32_t pid() const = 0;
  /// Makes sure that the system gives a stage with so many intra-op threads what it needs; E0614 if it does not.
  [[nodiscard]] virtual expected<void> ensure_threads(std::uint32_t threads) = 0;
  /// The descriptors that the driver handed over under this tag. E0702 if they do not come, or are not exactly `count`.
  /// Each tag can be taken once.
  [[nodiscard]] virtual expected<std::vector<unique_fd>> take(const std::string& tag, std::size_t count) = 0;
  /// The same, for one descriptor that is the memory of an engine's page.
  [[nodiscard]] virtual expected<std::shared_ptr<engine_page>> take_page(const std::string& tag) = 0;
  /// The host that makes the one engine of the process run. Lives as long as the process.
  [[nodiscard]] virtual engine_host& engines() = 0;
  /// Writes the cause to stderr and ends the process. For errors that the worker cannot repair; its driver replaces it.
  [[noreturn]] virtual void end(const error& cause) = 0;
};

}  // namespace troupe
