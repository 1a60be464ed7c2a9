#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Bytes in memory of their own, to be given to another process. A process of this host maps the memory through its
/// descriptor; the descriptor is the local form of the bytes and no more. Copies share the memory. Threads: any.
class blob {
 public:
  /// `bytes` that `fill` writes, and that are zero before. `name` is seen in /proc alone. E0614 where the system
  /// refuses; what `fill` throws.
  [[nodiscard]] static expected<blob> make(const char* name, std::uint64_t bytes,
                                           const std::function<void(std::span<std::byte>)>& fill);
  /// Memory that is there.
  explicit blob(unique_fd memory) : memory_(std::make_shared<const unique_fd>(std::move(memory))) {}

  /// Open as long as a copy lives.
  [[nodiscard]] int descriptor() const noexcept { return memory_->get(); }
  /// The same for all copies, and different from that of other blobs, as long as one of them lives.
  [[nodiscard]] const void* identity() const noexcept { return memory_.get(); }
  /// Another copy lives.
  [[nodiscard]] bool is_shared() const noexcept { return memory_.use_count() > 1; }
  /// What the memory holds now, from `offset` on: so many bytes as it has, at most as `into` takes. E0614.
  [[nodiscard]] expected<std::size_t> read(std::uint64_t offset, std::span<std::byte> into) const;
  /// A descriptor of one's own. E0614 where the system has none left.
  [[nodiscard]] expected<unique_fd> copy() const;

 private:
  std::shared_ptr<const unique_fd> memory_;
};

}  // namespace troupe
