#pragma once

#include <string>

#include <gtest/gtest.h>
#include <zlib.h>

#include "zip_writer.hpp"

namespace troupe::testing {

/// An entry that is compressed with deflate.
inline zip_item packed_item(const std::string& name, const std::string& content) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&z, content.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  z.avail_in = static_cast<uInt>(content.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  packed.resize(z.total_out);
  deflateEnd(&z);
  const auto crc = crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
  return {
      .name = name, .content = packed, .bytes = content.size(), .crc = static_cast<std::uint32_t>(crc), .packed = true};
}

}  // namespace troupe::testing
