#pragma once

#include <cstddef>
#include <span>

#include "messages/codec/message_kind.hpp"
#include <troupe/error.hpp>

namespace troupe::codec {

/// [version, kind, body]
inline constexpr std::size_t envelope_items = 3;

struct envelope {
  message_kind kind{};
  /// Where the kind stands, for errors.
  std::size_t kind_at = 0;
  /// Where the body, an array, starts.
  std::size_t body = 0;
};

/// Checks everything that does not depend on the kind, first the version (a later one may differ in all the rest), then
/// the structure as a whole: sizes, depth, completeness, nothing left over. Allocates nothing unless it fails.
expected<envelope> open_envelope(std::span<const std::byte> input);

}  // namespace troupe::codec
