#pragma once

#include <memory>

#include "runtime/os/blob.hpp"
#include "runtime/telemetry/engine_page.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The page of an engine in a memory file of its own (memfd), which several processes map. Threads: any.
class shared_page {
 public:
  /// Makes a fresh page. E0614 if the system gives no memory.
  [[nodiscard]] static expected<shared_page> create();
  /// Maps a page that another process has made. E0614, E0702: shared_memory::adopt().
  [[nodiscard]] static expected<shared_page> adopt(unique_fd memory);

  /// Stays mapped as long as a copy of the pointer lives.
  [[nodiscard]] const std::shared_ptr<engine_page>& page() const noexcept { return page_; }
  /// The bell of the engine, to be rung from this process. It keeps the page mapped.
  [[nodiscard]] std::shared_ptr<doorbell> bell() const;
  /// The memory file, to be handed to another process.
  [[nodiscard]] const blob& memory() const noexcept { return memory_; }

 private:
  shared_page(blob memory, std::shared_ptr<engine_page> page) : memory_(std::move(memory)), page_(std::move(page)) {}

  blob memory_;
  std::shared_ptr<engine_page> page_;
};

}  // namespace troupe
