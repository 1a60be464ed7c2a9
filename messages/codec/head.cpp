#include "messages/codec/head.hpp"

#include <array>
#include <string>

#include "messages/limits.hpp"

namespace troupe::codec {
namespace {

/// How a head looks for one range of first bytes (the msgpack specification's table of formats).
struct format {
  std::uint8_t first;
  std::uint8_t last;
  item_type type;
  /// Bytes of the big-endian number that follows; 0 if the number is what `first` byte is beyond `first`.
  std::uint8_t number_bytes;
};

constexpr std::array formats = {
    format{0x00, 0x7f, item_type::unsigned_integer, 0},
    format{0xcc, 0xcc, item_type::unsigned_integer, 1},
    format{0xcd, 0xcd, item_type::unsigned_integer, 2},
    format{0xce, 0xce, item_type::unsigned_integer, 4},
    format{0xcf, 0xcf, item_type::unsigned_integer, 8},
    format{0x90, 0x9f, item_type::array, 0},
    format{0xdc, 0xdc, item_type::array, 2},
    format{0xdd, 0xdd, item_type::array, 4},
    format{0xa0, 0xbf, item_type::string, 0},
    format{0xd9, 0xd9, item_type::string, 1},
    format{0xda, 0xda, item_type::string, 2},
    format{0xdb, 0xdb, item_type::string, 4},
    format{0xc4, 0xc4, item_type::binary, 1},
    format{0xc5, 0xc5, item_type::binary, 2},
    format{0xc6, 0xc6, item_type::binary, 4},
    format{0xc0, 0xc0, item_type::nil, 0},
};

/// By first byte: one more than the format's place; 0 if no format begins with it.
constexpr std::array<std::uint8_t, 256> make_places() {
  std::array<std::uint8_t, 256> places{};
  for (std::size_t place = 0; place < formats.size(); ++place) {
    for (unsigned byte = formats[place].first; byte <= formats[place].last; ++byte)
      places[byte] = static_cast<std::uint8_t>(place + 1);
  }
  return places;
}
constexpr auto places = make_places();

const format* find_format(std::uint8_t first) noexcept {
  const std::uint8_t place = places[first];
  return place == 0 ? nullptr : &formats[place - 1u];
}

tl::unexpected<error> cut_short(std::span<const std::byte> input, std::size_t offset, const std::string& what) {
  return fail_at(error_code::wire_malformed, offset,
                 what + " goes beyond the end of the message, which has " + std::to_string(input.size()) + " bytes");
}

std::size_t most_of(item_type type) noexcept {
  if (type == item_type::string) return limits::wire_string_bytes_max;
  return type == item_type::binary ? limits::wire_message_bytes_max : limits::wire_array_items_max;
}

bool announces_size(const head& found) noexcept {
  return found.type != item_type::nil && found.type != item_type::unsigned_integer;
}

/// The error about a head with content that find_head() has refused.
tl::unexpected<error> refuse_size(std::span<const std::byte> input, std::size_t offset, const head& found) {
  const std::size_t most = most_of(found.type);
  const std::string what = std::string(name_of(found.type)) + " of " + std::to_string(found.value) +
                           (found.type == item_type::array ? " items" : " bytes");
  if (found.value <= most) return cut_short(input, offset, what);
  return fail_at(error_code::wire_too_large, offset, what + ", the limit is " + std::to_string(most));
}

/// All bytes of the head are there.
head head_of(const format& f, std::span<const std::byte> input, std::size_t offset) noexcept {
  const auto first = std::to_integer<std::uint8_t>(input[offset]);
  head found{f.type, static_cast<std::uint64_t>(first - f.first), offset + 1 + f.number_bytes};
  for (std::size_t i = offset + 1; i < found.end; ++i) {
    found.value = found.value << 8u | std::to_integer<std::uint64_t>(input[i]);
  }
  return found;
}

std::string hex(std::uint8_t byte) {
  constexpr std::string_view digits = "0123456789abcdef";
  return {'0', 'x', digits[byte >> 4u], digits[byte & 15u]};
}

}  // namespace

tl::unexpected<error> fail_at(error_code code, std::size_t offset, std::string cause) {
  return fail(code, "wire message, byte " + std::to_string(offset), std::move(cause),
              "Check that both ends run the same version of Troupe");
}

std::string_view name_of(item_type type) noexcept {
  switch (type) {
    case item_type::nil:
      return "nil";
    case item_type::unsigned_integer:
      return "unsigned integer";
    case item_type::string:
      return "string";
    case item_type::binary:
      return "binary";
    case item_type::array:
      return "array";
  }
  return "value";
}

std::optional<head> find_head(std::span<const std::byte> input, std::size_t offset) noexcept {
  if (offset >= input.size()) return std::nullopt;
  const format* f = find_format(std::to_integer<std::uint8_t>(input[offset]));
  if (f == nullptr || f->number_bytes > input.size() - offset - 1) return std::nullopt;
  const head found = head_of(*f, input, offset);
  if (announces_size(found) && (found.value > most_of(f->type) || found.value > input.size() - found.end))
    return std::nullopt;
  return found;
}

expected<head> read_head(std::span<const std::byte> input, std::size_t offset) {
  if (const auto found = find_head(input, offset)) return *found;
  if (offset >= input.size()) return cut_short(input, offset, "a value");
  const auto first = std::to_integer<std::uint8_t>(input[offset]);
  const format* f = find_format(first);
  if (f == nullptr) {
    return fail_at(error_code::wire_malformed, offset, "byte " + hex(first) + " starts a type that no message uses");
  }
  if (f->number_bytes > input.size() - offset - 1) return cut_short(input, offset, std::string(name_of(f->type)));
  return refuse_size(input, offset, head_of(*f, input, offset));
}

}  // namespace troupe::codec
