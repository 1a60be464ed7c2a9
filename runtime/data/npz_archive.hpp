#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "runtime/archive/zip_directory.hpp"
#include "runtime/data/npy_array.hpp"

namespace troupe {

/// Unpacked size of the compressed arrays of an archive together, which are kept in memory.
inline constexpr std::uint64_t npz_unpacked_bytes_max = std::uint64_t{4} << 30;

/// A NumPy archive: a zip file of .npy files, as numpy.savez and numpy.savez_compressed write it.
class npz_archive {
 public:
  /// Reads the directory alone. Errors: as open_bytes; E0302 for a file that was cut short, E0303 for one that is no
  /// archive or is damaged, or has two arrays of one name.
  static expected<npz_archive> open(const std::string& path);

  /// Names as numpy.load gives them, in the archive's order: without ".npy". They may be any text.
  [[nodiscard]] std::vector<std::string> names() const;

  /// Whether an entry was called ".npy". `name` is one of names().
  [[nodiscard]] bool is_array(const std::string& name) const { return !others_.contains(name); }

  /// `name` is one of names(). A stored array is read where it lies, in parts, so that its checksum is never compared;
  /// a compressed one is unpacked into memory now, and compared. Errors: as npy_array::open; E0307 where the compressed
  /// arrays that were read are larger than npz_unpacked_bytes_max together, or there is no memory for them.
  [[nodiscard]] expected<npy_array> read(const std::string& name);

 private:
  npz_archive(std::string path, byte_region_ptr region, std::vector<zip_entry> entries, std::set<std::string> others)
      : path_(std::move(path)), region_(std::move(region)), entries_(std::move(entries)), others_(std::move(others)) {}
  [[nodiscard]] expected<byte_region_ptr> unpack(const zip_entry& entry, const std::string& place);

  std::string path_;
  byte_region_ptr region_;
  /// Named as numpy does.
  std::vector<zip_entry> entries_;
  std::set<std::string> others_;
  std::uint64_t unpacked_bytes_ = 0;
};

}  // namespace troupe
