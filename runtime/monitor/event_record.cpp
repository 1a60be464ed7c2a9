#include "runtime/monitor/event_record.hpp"

#include <bit>
#include <cstddef>

#include "runtime/os/crc32c.hpp"
#include "runtime/os/protobuf_fields.hpp"

namespace troupe {
namespace {

constexpr std::size_t byte_bits = 8;

enum wire_type : std::uint8_t { varint = 0, eight_bytes = 1, length_delimited = 2, four_bytes = 5 };

template <class Number>
void put_little(std::string& to, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) to += static_cast<char>((number >> (byte_bits * i)) & 0xff);
}

template <class Number>
Number little_at(std::string_view bytes) {
  Number number = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;) number = (number << byte_bits) | static_cast<std::uint8_t>(bytes[i]);
  return number;
}

void put_varint(std::string& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) to += static_cast<char>((number & 0x7f) | 0x80);
  to += static_cast<char>(number);
}

void put_key(std::string& to, std::uint32_t field, wire_type type) {
  put_varint(to, field << 3 | type);
}

void put_bytes(std::string& to, std::uint32_t field, std::string_view bytes) {
  put_key(to, field, length_delimited);
  put_varint(to, bytes.size());
  to += bytes;
}

std::string event_at(double wall_time) {
  std::string event;
  put_key(event, 1, eight_bytes);
  put_little(event, std::bit_cast<std::uint64_t>(wall_time));
  return event;
}

/// Calls `each` for the fields of a message; false where it is none.
template <class Each>
bool for_fields(std::string_view message, const Each& each) {
  protobuf_fields fields(message);
  while (const auto found = fields.next()) {
    if (!each(*found)) return false;
  }
  return !fields.is_wrong();
}

}  // namespace

std::uint32_t record_checksum(std::string_view bytes) noexcept {
  constexpr std::uint32_t added = 0xa282ead8;
  return std::rotr(crc32c(std::as_bytes(std::span(bytes))), 15) + added;
}

std::string record_of(std::string_view data) {
  std::string record;
  put_little(record, std::uint64_t{data.size()});
  put_little(record, record_checksum(record));
  record += data;
  put_little(record, record_checksum(data));
  return record;
}

std::string version_event(double wall_time) {
  std::string event = event_at(wall_time);
  put_bytes(event, 3, "brain.Event:2");
  return event;
}

std::string scalars_event(double wall_time, std::uint64_t step, std::span<const scalar> scalars) {
  std::string summary;
  for (const scalar& each : scalars) {
    std::string value;
    put_bytes(value, 1, each.name);
    put_key(value, 2, four_bytes);
    put_little(value, std::bit_cast<std::uint32_t>(static_cast<float>(each.value)));
    put_bytes(summary, 1, value);
  }
  std::string event = event_at(wall_time);
  put_key(event, 2, varint);
  put_varint(event, step);
  put_bytes(event, 5, summary);
  return event;
}

std::optional<std::string> next_record(std::istream& file) {
  constexpr std::size_t head_bytes = 12;
  constexpr std::size_t sum_bytes = 4;
  std::string head(head_bytes, '\0');
  if (!file.read(head.data(), head_bytes)) return std::nullopt;
  const std::string_view length = std::string_view(head).substr(0, sizeof(std::uint64_t));
  const auto size = little_at<std::uint64_t>(length);
  if (little_at<std::uint32_t>(std::string_view(head).substr(length.size())) != record_checksum(length) ||
      size > record_bytes_max) {
    return std::nullopt;
  }
  std::string data(size + sum_bytes, '\0');
  if (!file.read(data.data(), static_cast<std::streamsize>(data.size()))) return std::nullopt;
  const auto sum = little_at<std::uint32_t>(std::string_view(data).substr(size));
  data.resize(size);
  return sum == record_checksum(data) ? std::optional(std::move(data)) : std::nullopt;
}

std::optional<event_names> names_in_event(std::string_view data) {
  event_names found;
  const auto take_tag = [&](const protobuf_field& of_value) {
    if (of_value.number == 1) found.names.emplace_back(of_value.bytes);
    return true;
  };
  const auto take_value = [&](const protobuf_field& of_summary) {
    return of_summary.number != 1 || for_fields(of_summary.bytes, take_tag);
  };
  const bool is_event = for_fields(data, [&](const protobuf_field& of_event) {
    if (of_event.number == 2) found.step = of_event.value;
    return of_event.number != 5 || for_fields(of_event.bytes, take_value);
  });
  return is_event ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace troupe
