#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace troupe {

/// Bytes that start at a multiple of limits::payload_alignment. Grows only; what it held is lost when it does.
class aligned_buffer {
 public:
  /// False if there is no memory; the buffer is then empty.
  [[nodiscard]] bool reserve(std::uint64_t bytes) noexcept;
  [[nodiscard]] std::span<std::byte> first(std::uint64_t bytes) noexcept { return {data_.get(), bytes}; }

 private:
  struct release {
    void operator()(std::byte* data) const noexcept;
  };
  std::unique_ptr<std::byte, release> data_;
  std::uint64_t capacity_ = 0;
};

/// Buffers that come back when their last handle is dropped, on whatever thread: once as many are warm as are in use at
/// a time, taking one allocates nothing. The pool may be gone by then. Threads: any.
class buffer_pool {
 public:
  /// Keeps at most `kept_max` unused buffers.
  explicit buffer_pool(std::size_t kept_max);

  /// A buffer of at least `bytes` bytes; null if there is no memory.
  [[nodiscard]] std::shared_ptr<aligned_buffer> take(std::uint64_t bytes);
  /// Made so far, for tests.
  [[nodiscard]] std::uint64_t made() const;

 private:
  struct shelf;
  struct pooled;
  template <class T>
  struct inside;
  std::shared_ptr<shelf> shelf_;
};

}  // namespace troupe
