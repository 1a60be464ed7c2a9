#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The character that stands for a byte in a byte-level vocabulary: printable ones of Latin-1 for themselves, the
/// others, in their order, from U+0100 on (Radford et al., GPT-2).
char32_t character_of_byte(unsigned char byte) noexcept;
std::optional<unsigned char> byte_of_character(char32_t c) noexcept;
/// The characters of all bytes of `bytes`.
std::string characters_of_bytes(std::string_view bytes);

/// The space of this alphabet.
inline constexpr char32_t space_character = 0x120;

}  // namespace troupe
