#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <troupe/scalars.hpp>

namespace troupe {

// Event files of TensorBoard. A file is a list of records: the length in 8 bytes, little-endian; a checksum of these
// bytes; the data; a checksum of the data. A checksum is CRC-32C, rotated right by 15 bits, plus 0xa282ead8, in 4 bytes
// (tensorflow/core/lib/io/record_writer.h, lib/hash/crc32c.h). The data are a message Event of protocol buffers
// (tensorflow/core/util/event.proto): 1 wall_time, double; 2 step, int64; 3 file_version, string; 5 summary, of which
// each value (1) has 1 tag, string, and 2 simple_value, float (tensorflow/core/framework/summary.proto).

/// The checksum of a record.
[[nodiscard]] std::uint32_t record_checksum(std::string_view bytes) noexcept;
[[nodiscard]] std::string record_of(std::string_view data);

/// The first event of a file.
[[nodiscard]] std::string version_event(double wall_time);
/// A value beyond float32 becomes an infinity.
[[nodiscard]] std::string scalars_event(double wall_time, std::uint64_t step, std::span<const scalar> scalars);

/// Which scalars an event has.
struct event_names {
  std::uint64_t step = 0;
  std::vector<std::string> names;
};

/// Longer records are not ours.
inline constexpr std::uint64_t record_bytes_max = std::uint64_t{16} << 20;

/// The next record's data. Nothing at the end, and where what comes is no whole record.
[[nodiscard]] std::optional<std::string> next_record(std::istream& file);
/// Nothing for data that are no message Event.
[[nodiscard]] std::optional<event_names> names_in_event(std::string_view data);

}  // namespace troupe
