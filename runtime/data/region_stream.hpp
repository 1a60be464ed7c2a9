#pragma once

#include <array>
#include <istream>
#include <streambuf>

#include "runtime/data/byte_region.hpp"

namespace troupe {

/// A stream that reads a region. Where the region cannot be read, the stream ends; `failure` then says why.
class region_stream final : private std::streambuf, public std::istream {
 public:
  explicit region_stream(byte_region_ptr region);
  [[nodiscard]] const std::optional<error>& failure() const noexcept { return failure_; }

 private:
  // both bases have these names, for the same types
  using int_type = std::streambuf::int_type;
  using pos_type = std::streambuf::pos_type;
  using off_type = std::streambuf::off_type;
  using traits_type = std::streambuf::traits_type;

  int_type underflow() override;
  pos_type seekoff(off_type by, std::ios_base::seekdir from, std::ios_base::openmode which) override;
  pos_type seekpos(pos_type to, std::ios_base::openmode which) override;

  byte_region_ptr region_;
  /// The place behind the bytes in the block.
  std::uint64_t end_ = 0;
  std::array<char, 64 << 10> block_{};
  std::optional<error> failure_;
};

}  // namespace troupe
