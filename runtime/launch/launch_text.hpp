#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// A part of a text in single quotes, for a message. At most the first 40 bytes; bytes that are no printable ASCII
/// stand as \xNN.
std::string quote_text(std::string_view text);

/// The number that decimal digits mean. UINT64_MAX for a greater one, nothing for any other text: no sign, no space.
std::optional<std::uint64_t> read_digits(std::string_view text);

/// Where the byte is first found in [at, end) of the text; `end` if it is not there.
std::size_t find_before(std::string_view text, char byte, std::size_t at, std::size_t end);

/// "--include, character 5": the place of the byte `at`, which counts from 0; the message counts from 1.
std::string character_place(std::string_view source, std::size_t at);

}  // namespace troupe
