#include <array>
#include <cstring>

#include <troupe/runtime/edge/tcp/crc32c.hpp>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace troupe {
namespace {

/// The polynomial 0x1edc6f41 with its bits reversed, as the shift goes to the right.
constexpr std::uint32_t polynomial = 0x82f63b78;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1u) ^ ((crc & 1u) != 0 ? polynomial : 0u);
    table[byte] = crc;
  }
  return table;
}
constexpr auto table = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::span<const std::byte> bytes,
                                                               std::uint32_t before) noexcept {
  std::uint64_t crc = ~before;
  while (bytes.size() >= sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof(word));
    crc = _mm_crc32_u64(crc, word);
    bytes = bytes.subspan(sizeof(word));
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (const std::byte b : bytes) rest = _mm_crc32_u8(rest, std::to_integer<std::uint8_t>(b));
  return ~rest;
}
const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  std::uint32_t crc = ~before;
  for (const std::byte b : bytes) crc = (crc >> 8u) ^ table[(crc ^ std::to_integer<std::uint32_t>(b)) & 0xffu];
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
#if defined(__x86_64__)
  if (has_instruction) return by_instruction(bytes, before);
#endif
  return crc32c_by_table(bytes, before);
}

}  // namespace troupe
