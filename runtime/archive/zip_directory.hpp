#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace troupe {

/// Why a zip file could not be read.
struct zip_fault {
  enum class kind : std::uint8_t {
    truncated,  ///< bytes are missing: the end of the file, or what a record says lies before it
    damaged,    ///< a record breaks the format, or needs a feature not read here (encryption, methods but deflate)
    altered,    ///< an entry is not what was stored: its checksum or size differs, or another entry overlaps
  };
  kind what = kind::damaged;
  /// For the user, without the file's name: "its zip entry data.pkl has no header".
  std::string cause;
};

template <class Value>
using zip_expected = tl::expected<Value, zip_fault>;

[[nodiscard]] inline tl::unexpected<zip_fault> zip_damaged(std::string cause) {
  return tl::make_unexpected(zip_fault{zip_fault::kind::damaged, std::move(cause)});
}

/// In a field of 32 bits: the number stands in the entry's or the directory's zip64 record.
constexpr std::uint64_t zip64_marker = 0xffffffff;

/// One file inside of a zip file.
struct zip_entry {
  std::string name;
  /// Compressed with deflate; otherwise stored as it is.
  bool packed = false;
  /// CRC-32 of the unpacked content.
  std::uint32_t crc = 0;
  /// Bytes of the content in the zip file, and unpacked.
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;
  /// Where the content begins in the zip file.
  std::uint64_t offset = 0;
};

/// All entries of a zip file of `bytes` bytes, in the order of its central directory (PKWARE APPNOTE 4.3.7 to 4.3.16,
/// zip64 included). Reads the directory and the entries' headers, no content; every size is checked against the file
/// before memory is allocated. The contents lie inside of the file, in front of the directory, and do not overlap.
zip_expected<std::vector<zip_entry>> read_zip_directory(std::istream& file, std::uint64_t bytes);

/// The little-endian number in the `width` bytes (1 to 8) of `bytes` from position `at`. The caller has checked that
/// there are so many.
std::uint64_t zip_number(std::string_view bytes, std::uint64_t at, unsigned width);

/// `bytes` bytes of the file from `offset`. The caller has checked that the file has them; one that has become shorter
/// since is `truncated`.
zip_expected<std::string> read_zip_bytes(std::istream& file, std::uint64_t offset, std::uint64_t bytes);

struct zip_directory_place {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Where the central directory lies in a file of `bytes` bytes, by the record at its end. The place is inside of the
/// file and has at most limits::model_directory_bytes_max.
zip_expected<zip_directory_place> find_zip_directory(std::istream& file, std::uint64_t bytes);

}  // namespace troupe
