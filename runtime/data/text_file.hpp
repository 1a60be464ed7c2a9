#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runtime/data/byte_region.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// How many of the first bytes of a file show whether it is a text.
inline constexpr std::size_t text_bytes_shown = 32;

/// The error (E0303) of a file that should be of the binary format `format`, which no text begins, and begins with
/// text: a web page that a server gave in place of the file, or the pointer that Git LFS leaves. Nothing if one of the
/// first bytes is no printable ASCII. `bytes` is the file or its beginning.
std::optional<error> text_in_place_of(std::string_view format, const std::string& path,
                                      std::span<const std::uint8_t> bytes);
/// The same of an open file. A file that cannot be read is that error.
std::optional<error> text_in_place_of(std::string_view format, const std::string& path, const byte_region& bytes);

}  // namespace troupe
