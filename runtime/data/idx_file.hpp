#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/byte_region.hpp"

namespace troupe {

/// A file in the IDX format of MNIST: two zero bytes, an element type, the number of dimensions, one big-endian 32-bit
/// size per dimension, then the elements in row-major order. Gzip or not, told by its content.
struct idx_file {
  std::string path;
  std::vector<std::uint32_t> sizes;
  byte_region_ptr region;
  /// Of the first element in `region`.
  std::uint64_t payload_offset = 0;
};

/// Opens unsigned bytes (element type 8) with that many dimensions, all sizes at least 1. A packed file is unpacked
/// once, never past what its header promises plus one byte. Errors: as open_bytes and gzip_reader;
/// wrong magic or more bytes than promised E0303, fewer E0302, no samples E0306.
expected<idx_file> open_idx(const std::string& path, std::uint8_t dimensions);

}  // namespace troupe
