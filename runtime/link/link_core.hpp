#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <asio/any_io_executor.hpp>

#include "runtime/edge/tcp/connection.hpp"
#include "runtime/link/liveness.hpp"

namespace troupe {

class link_end;

[[nodiscard]] connection_limits limits_of(const liveness& times, std::chrono::milliseconds handshake);

/// What the ends of one I/O thread share. Its owner ends the thread and calls cut() before the executor goes.
class link_core {
 public:
  explicit link_core(asio::any_io_executor on) : executor(std::move(on)) {}
  link_core(const link_core&) = delete;
  link_core& operator=(const link_core&) = delete;

  void know(const std::shared_ptr<link_end>& end);
  /// Nothing is told any more, and nothing goes out.
  void cut() noexcept;

  const asio::any_io_executor executor;

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<link_end>> ends_;
};

}  // namespace troupe
