#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <troupe/data_set.hpp>

namespace troupe::testing {

using bytes = std::vector<std::uint8_t>;

/// A directory of its own for each test, removed at its end.
class scratch_directory {
 public:
  scratch_directory();
  ~scratch_directory();
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const bytes& content) const;

 private:
  std::filesystem::path path_;
};

bytes changed(bytes content, std::size_t at, std::uint8_t value);
bytes cut(bytes content, std::size_t size);
bytes extended(bytes content, std::size_t by);

bytes read_file(const std::filesystem::path& path);

bytes idx(std::uint32_t magic, const std::vector<std::uint32_t>& sizes, const bytes& payload);
/// n images of 2 x 3 pixels that count upwards, and their labels i % 10.
bytes idx_images(std::uint32_t n);
bytes idx_labels(std::uint32_t n);

bytes gzip(const bytes& plain);

/// n CIFAR-10 records: label i % 10, pixel p of record i is (i * 7 + p) % 256.
bytes cifar_records(std::uint32_t n);

/// A .npy file with that dictionary; the header is padded with spaces so that the data begin at a multiple of
/// `alignment`.
bytes npy(const std::string& dictionary, const bytes& payload, std::uint8_t major = 1, std::size_t alignment = 64);

/// The dictionary of a .npy header: numpy's name of the type, and the shape as Python writes it.
std::string dictionary(const std::string& descr, const std::string& shape);

/// Writes both files and names them as data.
std::string npy_pair(const scratch_directory& dir, const bytes& inputs, const bytes& labels);

/// n numbers that rise from -3 by 0.25.
std::vector<float> ramp(std::size_t n);
/// A .npy file of ramp(6) as float32 [3, 2], and one of the classes 0, 1, 1.
bytes three_inputs();
bytes three_classes();

/// The data set that `specification` names; its error as an exception.
data_set_ptr opened(const std::string& specification);

template <class T>
bytes raw(const std::vector<T>& values) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(values.data());
  return {begin, begin + values.size() * sizeof(T)};
}

}  // namespace troupe::testing
