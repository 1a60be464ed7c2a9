#include "runtime/os/crc32c.hpp"

#include <array>
#include <cstring>

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
constexpr auto byte_table = make_table();

#if defined(__x86_64__)
// Processors begin one such instruction per cycle and have its result three cycles later, so that a single chain leaves
// two thirds of the rate unused. Three chains over neighbouring lanes of a block fill it. A state is linear in what
// came before: with A, B and C the states over the lanes, B and C begun at zero, and S the change that the zeros of one
// lane make of a state, the state over the block is S(S(A) + B) + C, where + is exclusive or. The method is that of V.
// Gopal et al., "Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction", Intel, 2011; S is a table here.
constexpr std::size_t lane_bytes = 1024;
using lane_shift = std::array<std::array<std::uint32_t, 256>, 4>;

constexpr std::uint32_t after_lane_of_zeros(std::uint32_t state) {
  for (std::size_t i = 0; i < lane_bytes; ++i) state = (state >> 8u) ^ byte_table[state & 0xffu];
  return state;
}

/// S for each value of each of a state's four bytes: that of single bits calculated, of all others put together.
constexpr lane_shift make_lane_shift() {
  lane_shift shift{};
  for (unsigned place = 0; place < shift.size(); ++place) {
    for (unsigned bit = 0; bit < 8; ++bit) shift[place][1u << bit] = after_lane_of_zeros(1u << (8 * place + bit));
    for (unsigned byte = 1; byte < 256; ++byte) {
      const unsigned lowest = byte & -byte;
      shift[place][byte] = shift[place][lowest] ^ shift[place][byte ^ lowest];
    }
  }
  return shift;
}
constexpr lane_shift lane_shifts = make_lane_shift();

std::uint64_t shifted_by_lane(std::uint64_t state) noexcept {
  return lane_shifts[0][state & 0xffu] ^ lane_shifts[1][state >> 8u & 0xffu] ^ lane_shifts[2][state >> 16u & 0xffu] ^
         lane_shifts[3][state >> 24u & 0xffu];
}

std::uint64_t word_at(const std::byte* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

__attribute__((target("sse4.2"))) std::uint64_t over_block(const std::byte* block, std::uint64_t state) noexcept {
  std::uint64_t second = 0;
  std::uint64_t third = 0;
  for (std::size_t at = 0; at < lane_bytes; at += sizeof(std::uint64_t)) {
    state = _mm_crc32_u64(state, word_at(block + at));
    second = _mm_crc32_u64(second, word_at(block + lane_bytes + at));
    third = _mm_crc32_u64(third, word_at(block + 2 * lane_bytes + at));
  }
  return shifted_by_lane(shifted_by_lane(state) ^ second) ^ third;
}

__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::span<const std::byte> bytes,
                                                               std::uint32_t before) noexcept {
  std::uint64_t state = ~before;
  for (; bytes.size() >= 3 * lane_bytes; bytes = bytes.subspan(3 * lane_bytes)) state = over_block(bytes.data(), state);
  for (; bytes.size() >= sizeof(std::uint64_t); bytes = bytes.subspan(sizeof(std::uint64_t))) {
    state = _mm_crc32_u64(state, word_at(bytes.data()));
  }
  auto rest = static_cast<std::uint32_t>(state);
  for (const std::byte b : bytes) rest = _mm_crc32_u8(rest, std::to_integer<std::uint8_t>(b));
  return ~rest;
}
const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
#endif

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  std::uint32_t crc = ~before;
  for (const std::byte b : bytes) crc = (crc >> 8u) ^ byte_table[(crc ^ std::to_integer<std::uint32_t>(b)) & 0xffu];
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
#if defined(__x86_64__)
  if (has_instruction) return by_instruction(bytes, before);
#endif
  return crc32c_by_table(bytes, before);
}

}  // namespace troupe
