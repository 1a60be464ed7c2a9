#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <nlohmann/json.hpp>

#include "runtime/exported/exported_archive.hpp"
#include "runtime/exported/exported_tensor.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// Parameters, buffers and constants of an archive, by name. Each record of the file is read once, when a tensor in it
/// is asked for; tensors of one record share its memory.
class exported_weights {
 public:
  /// Reads the two lists of tensors, and no tensor. The archive must outlive it.
  static expected<exported_weights> open(exported_archive& archive);

  /// The tensor of this name, which must have the type and sizes that the program promises; converted to `dtype` if
  /// that is given and the tensor is floating. E0210 where it is missing, or lies outside of its record; E0217 where it
  /// is pickled.
  expected<at::Tensor> read(const std::string& name, const exported_tensor& promised,
                            std::optional<c10::ScalarType> dtype);

 private:
  struct record {
    std::string path;
    nlohmann::json meta;
  };
  explicit exported_weights(exported_archive& archive) : archive_(&archive) {}
  expected<void> list(const std::string& folder, const std::string& name);
  expected<at::Tensor> memory_of(const std::string& path, c10::ScalarType stored, c10::ScalarType wanted);

  exported_archive* archive_;
  std::map<std::string, record> records_;
  /// All elements of a record, in one dimension, by its path, the type that it has in the file, and its own.
  std::map<std::tuple<std::string, c10::ScalarType, c10::ScalarType>, at::Tensor> memory_;
  std::map<std::string, at::Tensor> bytes_;
  /// What read() gave, by path, types and extent: two names of one weight are one tensor.
  std::map<std::tuple<std::string, c10::ScalarType, c10::ScalarType, std::vector<std::int64_t>>, at::Tensor> tensors_;
};

}  // namespace troupe
