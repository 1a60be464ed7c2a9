// Blobs as a driver has them.
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/os/blob.hpp"
#include "runtime/os/shared_memory.hpp"

namespace troupe::testing {

inline constexpr std::uint64_t mebibyte = 1u << 20;

/// Under which a byte costs so much that large blobs are smaller there.
inline constexpr bool costs_more =
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    true;
#else
    false;
#endif

/// A hole from its begin to its end.
inline blob empty_blob(std::uint64_t bytes) {
  return blob(std::move(*shared_memory::create("test", bytes)).release());
}
inline blob blob_with(const std::string& text) {
  return *blob::make("test", text.size(),
                     [&](std::span<std::byte> place) { std::memcpy(place.data(), text.data(), text.size()); });
}
inline void write_at(const blob& memory, std::uint64_t offset, const std::string& text) {
  ASSERT_EQ(::pwrite(memory.descriptor(), text.data(), text.size(), static_cast<off_t>(offset)),
            static_cast<ssize_t>(text.size()));
}

}  // namespace troupe::testing
