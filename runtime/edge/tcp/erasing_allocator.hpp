#pragma once

#include <cstddef>
#include <memory>

#include <openssl/crypto.h>

namespace troupe {

/// Erases memory before it goes back: of a vector that grows, moves or ends. What it holds beyond its size stays, so
/// its owner erases what it clears.
template <class T>
struct erasing_allocator {
  using value_type = T;

  erasing_allocator() = default;
  template <class Other>
  erasing_allocator(const erasing_allocator<Other>&) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* memory, std::size_t count) noexcept {
    OPENSSL_cleanse(memory, count * sizeof(T));
    std::allocator<T>().deallocate(memory, count);
  }
  friend bool operator==(erasing_allocator, erasing_allocator) = default;
};

}  // namespace troupe
