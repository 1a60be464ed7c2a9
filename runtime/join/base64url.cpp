#include "runtime/join/base64url.hpp"

#include <utility>

#include "messages/check.hpp"

namespace troupe {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void put(secret_text& into, char c) {
  TROUPE_CHECK(into.append(c), "the capacity is computed from the size of the input");
}

}  // namespace

secret_text to_base64url(std::span<const std::uint8_t> bytes) {
  secret_text text((bytes.size() * 8 + 5) / 6);
  std::uint32_t bits = 0;
  int count = 0;
  for (const std::uint8_t byte : bytes) {
    bits = (bits << 8 | byte) & 0xffff;
    for (count += 8; count >= 6; count -= 6) put(text, alphabet[bits >> (count - 6) & 63]);
  }
  if (count > 0) put(text, alphabet[bits << (6 - count) & 63]);
  return text;
}

base64url_result from_base64url(std::string_view text) {
  secret_text bytes(text.size() * 6 / 8);
  std::uint32_t bits = 0;
  int count = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t digit = alphabet.find(text[at]);
    if (digit == std::string_view::npos) return {std::move(bytes), at};
    bits = (bits << 6 | static_cast<std::uint32_t>(digit)) & 0xffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    put(bytes, static_cast<char>(bits >> count & 0xff));
  }
  // A single character of the last four has too few bits for a byte.
  const bool has_spare_bits = count == 6 || (bits & ((1u << count) - 1)) != 0;
  return {std::move(bytes), has_spare_bits ? std::optional(text.size() - 1) : std::nullopt};
}

}  // namespace troupe
