#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace troupe {

/// Bytes in the order in which they are to be read, which lie in several places: views of what others own, and bytes of
/// its own. A payload is written to a socket from where it lies. Once it has grown it allocates nothing. Threads: one.
class gathered_bytes {
 public:
  void clear() noexcept;
  /// Looked at until clear(), and not copied.
  void view(std::span<const std::byte> bytes);
  /// The next bytes are these, for the caller to write. Valid until clear(). Throws std::bad_alloc.
  [[nodiscard]] std::span<std::byte> own(std::size_t bytes);
  /// Zeros up to the next multiple of `alignment`, which is at most limits::payload_alignment.
  void pad_to(std::size_t alignment);

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// None of them is empty.
  [[nodiscard]] std::span<const std::span<const std::byte>> pieces() const noexcept { return pieces_; }

 private:
  std::vector<std::span<const std::byte>> pieces_;
  /// Their memory is kept from one payload to the next.
  std::vector<std::vector<std::byte>> own_;
  std::size_t own_used_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace troupe
