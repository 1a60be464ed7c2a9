#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/byte_region.hpp"

namespace troupe {

/// A file in the IDX format of MNIST: two zero bytes, an element type, the number of dimensions, one big-endian 32-bit
/// size per dimension, then the elements in row-major order. The first bytes tell whether gzip has packed it.
struct idx_file {
  std::string path;
  std::vector<std::uint32_t> sizes;
  /// A plain file: all its bytes, the header too. A packed one: its unpacked elements alone.
  byte_region_ptr region;
  /// Position of the first element in `region`, in bytes; 0 in that of a packed file.
  std::uint64_t payload_offset = 0;
};

/// Opens unsigned bytes (element type 8) with that many dimensions, all sizes at least 1.
///
/// A packed file is unpacked into memory once. The memory has the size that the header promises and is taken after two
/// checks: deflate can make so much of the packed bytes (else E0302), and limits::gzip_unpacked_bytes_max permits it
/// (else E0307). One more byte is asked for behind the last element, which shows that none follows.
///
/// Errors, beside those of open_bytes, byte_region::read and gzip_reader::read (runtime/data/gzip_reader.hpp): another
/// element type or number of dimensions E0303; a size of 0 in any dimension E0306; more bytes than promised E0303,
/// fewer E0302, as for sizes whose product no file can have (2^62 and more); no memory to unpack E0307.
expected<idx_file> open_idx(const std::string& path, std::uint8_t dimensions);

}  // namespace troupe
