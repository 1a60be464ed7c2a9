#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <troupe/error.hpp>

namespace troupe::codec {

/// The part of msgpack that messages use. Negative and floating-point numbers, maps and extension types are
/// refused.
enum class item_type : std::uint8_t { nil, unsigned_integer, string, binary, array };

/// The start of one msgpack value: its type, and the number itself, the bytes of the string or binary, or the items of
/// the array.
struct head {
  item_type type = item_type::nil;
  std::uint64_t value = 0;
  /// Where the head ends: at the content of a string or binary, the first item of an array, or the next value.
  std::size_t end = 0;
};

/// Reads the head at `offset`. What it announces fits the limits and, at one byte per item, the bytes that are there.
expected<head> read_head(std::span<const std::byte> input, std::size_t offset);
/// The same for loops over many values: nothing where read_head() has an error.
std::optional<head> find_head(std::span<const std::byte> input, std::size_t offset) noexcept;

/// "string", "array"...
std::string_view name_of(item_type type) noexcept;

/// An error about the byte at `offset`.
tl::unexpected<error> fail_at(error_code code, std::size_t offset, std::string cause);

}  // namespace troupe::codec
