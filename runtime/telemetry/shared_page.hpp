#pragma once

#include <memory>

#include "runtime/os/blob.hpp"
#include "runtime/telemetry/engine_page.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// An engine's page in memory of its own (a memfd), for several processes. Threads: any.
class shared_page {
 public:
  /// A fresh one. E0614 where the system refuses.
  [[nodiscard]] static expected<shared_page> create();
  /// Another process's. E0614, E0702: shared_memory::adopt().
  [[nodiscard]] static expected<shared_page> adopt(unique_fd memory);

  /// Stays mapped as long as a copy of the pointer lives.
  [[nodiscard]] const std::shared_ptr<engine_page>& page() const noexcept { return page_; }
  /// Rings the engine's bell from whatever process; keeps the page.
  [[nodiscard]] std::shared_ptr<doorbell> bell() const;
  /// For another process.
  [[nodiscard]] const blob& memory() const noexcept { return memory_; }

 private:
  shared_page(blob memory, std::shared_ptr<engine_page> page) : memory_(std::move(memory)), page_(std::move(page)) {}

  blob memory_;
  std::shared_ptr<engine_page> page_;
};

}  // namespace troupe
