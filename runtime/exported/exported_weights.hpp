#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include "runtime/exported/exported_archive.hpp"
#include "runtime/exported/exported_tensor.hpp"
#include "runtime/weights/mapped_file.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Parameters, buffers and constants of an archive, by name. Tensors are views of the mapped file (mapped_file.hpp),
/// once the checksum of their record has been compared; those of one record share its memory.
class exported_weights {
 public:
  /// Reads the two lists of tensors, and no tensor. E0210; E0217 for a tensor that is pickled. The archive must outlive
  /// it.
  static expected<exported_weights> open(exported_archive& archive);

  /// The tensor of this name, which must have the type and sizes that the program promises. E0210 where it is missing,
  /// or lies outside of its record.
  expected<at::Tensor> read(const std::string& name, const exported_tensor& promised);

 private:
  struct record {
    std::string path;
    nlohmann::json meta;
  };
  /// In elements of a record.
  struct extent {
    std::vector<std::int64_t> sizes = {};
    std::vector<std::int64_t> strides = {};
    std::int64_t offset = 0;
    auto operator<=>(const extent&) const = default;
  };
  explicit exported_weights(exported_archive& archive) : archive_(&archive) {}
  expected<void> list(const std::string& folder, const std::string& name);
  /// The extent of a tensor that lies inside of `elements` elements.
  static expected<extent> extent_in(const json_part& meta, std::uint64_t elements, std::uint64_t elements_max);
  expected<at::Tensor> bytes_of(const std::string& path);

  exported_archive* archive_;
  /// Opened for the first tensor.
  std::shared_ptr<const mapped_file> file_;
  std::map<std::string, record> records_;
  /// By path.
  std::map<std::string, at::Tensor> bytes_;
  /// What read() gave, by path, type and extent: two names of one weight are one tensor.
  std::map<std::tuple<std::string, c10::ScalarType, extent>, at::Tensor> tensors_;
};

}  // namespace troupe
