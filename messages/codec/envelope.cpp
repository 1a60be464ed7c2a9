#include "messages/codec/envelope.hpp"

#include <array>
#include <string>

#include "messages/codec/head.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe::codec {
namespace {

using input_bytes = std::span<const std::byte>;

/// Follows one value with all that is nested in it and returns where it ends.
expected<std::size_t> skip_value(input_bytes input, std::size_t offset) {
  std::array<std::uint64_t, limits::wire_depth_max> items_left{};
  std::size_t depth = 0;
  do {
    const auto item = find_head(input, offset);
    if (!item) return tl::make_unexpected(read_head(input, offset).error());
    if (depth > 0) --items_left[depth - 1];
    if (item->type == item_type::array) {
      if (depth == limits::wire_depth_max) {
        return fail_at(error_code::wire_too_deep, offset,
                       "arrays nested deeper than the limit of " + std::to_string(limits::wire_depth_max));
      }
      items_left[depth++] = item->value;
    }
    const bool has_content = item->type == item_type::string || item->type == item_type::binary;
    offset = item->end + (has_content ? item->value : 0);
    while (depth > 0 && items_left[depth - 1] == 0) --depth;
  } while (depth > 0);
  return offset;
}

expected<head> read_number(input_bytes input, std::size_t offset, const std::string& what) {
  auto item = read_head(input, offset);
  if (item && item->type != item_type::unsigned_integer) {
    return fail_at(error_code::wire_malformed, offset,
                   "expected the " + what + ", found " + std::string(name_of(item->type)));
  }
  return item;
}

expected<head> read_version(input_bytes input) {
  auto outer = read_head(input, 0);
  if (!outer) return outer;
  if (outer->type != item_type::array) {
    return fail_at(error_code::wire_malformed, 0, "expected an envelope, found " + std::string(name_of(outer->type)));
  }
  auto version = read_number(input, outer->end, "wire version");
  if (version && version->value != limits::wire_version) {
    return fail_at(error_code::wire_wrong_version, outer->end,
                   "wire version " + std::to_string(version->value) + ", this program speaks version " +
                       std::to_string(limits::wire_version));
  }
  if (version && outer->value != envelope_items) {
    return fail_at(
        error_code::wire_malformed, 0,
        "envelope of " + std::to_string(outer->value) + " items, expected " + std::to_string(envelope_items));
  }
  return version;
}

expected<void> check_structure(input_bytes input) {
  const auto end = TROUPE_TRY(skip_value(input, 0));
  if (end != input.size()) {
    return fail_at(error_code::wire_malformed, end,
                   std::to_string(input.size() - end) + " bytes are left over after the message");
  }
  return {};
}

}  // namespace

expected<envelope> open_envelope(input_bytes input) {
  if (input.size() > limits::wire_message_bytes_max) {
    return fail_at(error_code::wire_too_large, limits::wire_message_bytes_max,
                   "message of " + std::to_string(input.size()) + " bytes, the limit is " +
                       std::to_string(limits::wire_message_bytes_max));
  }
  const auto version = TROUPE_TRY(read_version(input));
  TROUPE_TRY(check_structure(input));
  const auto kind = TROUPE_TRY(read_number(input, version.end, "message kind"));
  const auto known = kind_from(kind.value);
  if (!known) {
    return fail_at(error_code::wire_unknown_kind, version.end, "unknown message kind " + std::to_string(kind.value));
  }
  return envelope{*known, version.end, kind.end};
}

}  // namespace troupe::codec
