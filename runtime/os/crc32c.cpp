#include "runtime/os/crc32c.hpp"

#include <algorithm>

#include <isa-l/crc.h>

namespace troupe {
namespace {

/// ISA-L counts in int.
constexpr std::size_t piece_bytes_max = std::size_t{1} << 30u;

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  std::uint32_t state = ~before;
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), piece_bytes_max));
    // ISA-L reads alone, but does not say so
    auto* const from = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(piece.data()));  // NOLINT
    state = crc32_iscsi(from, static_cast<int>(piece.size()), state);
    bytes = bytes.subspan(piece.size());
  }
  return ~state;
}

}  // namespace troupe
