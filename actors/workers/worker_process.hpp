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

/// What a worker's actor has of the process that it is in: a real one (serve_worker), or a simulated one. Outlives the
/// actor. Threads: any.
class worker_process {
 public:
  worker_process() = default;
  worker_process(const worker_process&) = delete;
  worker_process& operator=(const worker_process&) = delete;
  virtual ~worker_process() = default;

  [[nodiscard]] virtual std::uint32_t pid() const = 0;
  /// Ensures room for a stage with so many intra-op threads, beforehand: E0614.
  [[nodiscard]] virtual expected<void> make_room(std::uint32_t threads) = 0;
  /// What the driver handed over under this name, once: exactly `count` descriptors, or E0702.
  [[nodiscard]] virtual expected<std::vector<unique_fd>> take(const std::string& tag, std::size_t count) = 0;
  /// The same of one descriptor that is an engine's page.
  [[nodiscard]] virtual expected<std::shared_ptr<engine_page>> take_page(const std::string& tag) = 0;
  /// Makes its one engine run. Lives as long as the process.
  [[nodiscard]] virtual engine_host& engines() = 0;
  /// What cannot be repaired from inside: the last words on stderr, and the end. Its driver replaces it.
  [[noreturn]] virtual void end(const error& cause) = 0;
};

}  // namespace troupe
