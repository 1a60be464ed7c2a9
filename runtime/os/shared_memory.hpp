#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "runtime/os/unique_fd.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Pages of a shared_memory in this process's address space, readable and writable; unmaps them. Lives on after the
/// shared_memory it came from.
class memory_mapping {
 public:
  memory_mapping() = default;
  explicit memory_mapping(std::span<std::byte> pages) noexcept : pages_(pages) {}
  memory_mapping(memory_mapping&& other) noexcept : pages_(std::exchange(other.pages_, {})) {}
  memory_mapping& operator=(memory_mapping&& other) noexcept;
  ~memory_mapping() { unmap(); }

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return pages_; }

 private:
  void unmap() noexcept;

  std::span<std::byte> pages_;
};

/// Anonymous memory behind a descriptor that other processes may be given (a memfd, closed on exec). Its file is sealed
/// against shrinking, by any process: pages once mapped stay readable whatever a peer does, so that there is no SIGBUS.
/// What they hold may change at any time.
///
/// Threads: one at a time. Errors: E0614 where the system refuses, E0702 for a descriptor or a range that is not what a
/// peer says.
class shared_memory {
 public:
  /// `name` is seen in /proc/<pid>/maps only. All zero; takes no memory before it is written or committed.
  [[nodiscard]] static expected<shared_memory> create(const char* name, std::uint64_t bytes);

  /// A descriptor from another process: must be a memfd of small pages, of at least `bytes_min` bytes, and sealed
  /// against shrinking.
  [[nodiscard]] static expected<shared_memory> adopt(unique_fd descriptor, std::uint64_t bytes_min);

  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  /// Gives the descriptor away.
  [[nodiscard]] unique_fd release() && noexcept { return std::move(descriptor_); }

  /// The size of the file now; it can only grow.
  [[nodiscard]] expected<std::uint64_t> size() const;
  /// Makes the file at least so large.
  [[nodiscard]] expected<void> grow(std::uint64_t bytes);
  /// Takes the memory of a range now, so that a write to it cannot fail later. Refuses more than the machine has to
  /// spare, as the kernel would not: it would kill processes, not only this one, to find the pages.
  [[nodiscard]] expected<void> commit(std::uint64_t offset, std::uint64_t bytes);
  /// Gives the memory of whole pages back; the range reads as zero from then on, in all processes.
  void discard(std::uint64_t offset, std::uint64_t bytes) noexcept;
  /// `offset` is a multiple of the page size, `bytes` at least 1, the range within the file.
  [[nodiscard]] expected<memory_mapping> map(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  explicit shared_memory(unique_fd descriptor) noexcept : descriptor_(std::move(descriptor)) {}

  unique_fd descriptor_;
};

}  // namespace troupe
