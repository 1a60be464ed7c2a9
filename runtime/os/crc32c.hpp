#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe {

/// CRC32C (Castagnoli), as iSCSI uses it: RFC 3720, section 12.1 and appendix B.4. To go on over a second piece, give
/// what the first returned as `before`. Threads: pure. By ISA-L, in the widest instructions that the processor has.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0) noexcept;

}  // namespace troupe
