#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace troupe {

/// Why a zip file could not be read.
struct zip_fault {
  enum class kind : std::uint8_t {
    truncated,  ///< the end of the file is not there, or points behind it
    damaged,    ///< the structure does not hold together
    altered,    ///< an entry is not what was stored: its checksum, its size, or another entry on top of it
  };
  kind what = kind::damaged;
  std::string cause;
};

template <class Value>
using zip_expected = tl::expected<Value, zip_fault>;

/// One line of the central directory.
struct zip_entry {
  std::string name;
  /// Compressed with deflate; otherwise stored as it is.
  bool packed = false;
  std::uint32_t crc = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t bytes = 0;
  /// Where the content begins in the file; as long as read_zip_directory() has not looked, where its header does.
  std::uint64_t offset = 0;
};

/// The central directory of a zip file of `bytes` bytes, in its order (PKWARE APPNOTE 4.3.7 to 4.3.16, zip64 included).
/// Reads the directory and the entries' headers; every size is checked against the file before memory is allocated. The
/// entries lie inside of the file, in front of the directory, and apart from each other.
zip_expected<std::vector<zip_entry>> read_zip_directory(std::istream& file, std::uint64_t bytes);

/// Little-endian number of `width` bytes; the caller has checked that it lies inside.
std::uint64_t zip_number(std::string_view bytes, std::uint64_t at, unsigned width);

/// `bytes` bytes at `offset`, both inside of the file.
zip_expected<std::string> read_zip_bytes(std::istream& file, std::uint64_t offset, std::uint64_t bytes);

struct zip_directory_place {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

/// Where the central directory lies, by the record at the end of the file.
zip_expected<zip_directory_place> find_zip_directory(std::istream& file, std::uint64_t bytes);

}  // namespace troupe
