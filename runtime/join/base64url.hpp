#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/join/join_secret.hpp"

namespace troupe {

/// Base64 in the alphabet for URLs and file names, without padding (RFC 4648, section 5). Every text has one form:
/// spare bits are zero. Threads: pure.
[[nodiscard]] secret_text to_base64url(std::span<const std::uint8_t> bytes);

struct base64url_result {
  secret_text bytes;
  /// Offset of the first character that does not belong; nothing if all do.
  std::optional<std::size_t> wrong_at;
};
[[nodiscard]] base64url_result from_base64url(std::string_view text);

}  // namespace troupe
