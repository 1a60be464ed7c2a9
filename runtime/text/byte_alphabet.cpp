#include "runtime/text/byte_alphabet.hpp"

#include <array>
#include <cstddef>

#include "runtime/text/utf8.hpp"

namespace troupe {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr auto characters = [] {
  std::array<char32_t, 256> all{};
  char32_t other = 0x100;
  for (unsigned byte = 0; byte < all.size(); ++byte) all[byte] = stands_for_itself(byte) ? byte : other++;
  return all;
}();
static_assert(characters[' '] == space_character);

constexpr auto bytes_of = [] {
  std::array<std::int16_t, 0x144> all{};
  for (std::int16_t& each : all) each = -1;
  for (std::size_t byte = 0; byte < characters.size(); ++byte) all[characters[byte]] = static_cast<std::int16_t>(byte);
  return all;
}();

}  // namespace

char32_t character_of_byte(unsigned char byte) noexcept {
  return characters[byte];
}

std::optional<unsigned char> byte_of_character(char32_t c) noexcept {
  if (c >= bytes_of.size() || bytes_of[c] < 0) return std::nullopt;
  return static_cast<unsigned char>(bytes_of[c]);
}

std::string characters_of_bytes(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) utf8::append(text, character_of_byte(static_cast<unsigned char>(byte)));
  return text;
}

}  // namespace troupe
