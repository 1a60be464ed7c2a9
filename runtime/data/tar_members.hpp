#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/data/byte_region.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A file in a tar archive, whose bytes lie in the archive as they are.
struct tar_member {
  /// As it is stored, and never used as a path.
  std::string name;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  /// Empty for a regular file whose bytes are all there; else what it is: "a symbolic link".
  std::string odd = {};
};

/// Goes through the headers of a plain tar archive (ustar, pax, GNU), by libarchive, and hands each member but folders
/// to `take`, in order. Contents are skipped, and nothing is written anywhere. `path` is what errors name. Memory: one
/// header, which libarchive bounds (1 MiB). Errors: those of `take`, which end it; E0302 for an archive that ends too
/// early; E0303 for one that is damaged, packed (gzip and the like) or no tar; as byte_region::read.
expected<void> for_each_member(const byte_region_ptr& archive, const std::string& path,
                               const std::function<expected<void>(const tar_member&)>& take);

/// The name in the header that stands directly before the bytes of a member, for errors; the archive's format may have
/// cut it. Empty where none can be read.
std::string name_before(const byte_region& archive, std::uint64_t offset);

}  // namespace troupe
