#pragma once

#include <string>
#include <string_view>

#include "runtime/os/file_replacement.hpp"
#include <troupe/weights.hpp>

namespace troupe {

/// A file of weights while it is written, and its errors.
class weights_writing {
 public:
  explicit weights_writing(const std::filesystem::path& file) : where_(file.string()), file_(file) {}

  expected<void> open() { return told(file_.open()); }
  expected<void> write(std::string_view bytes) { return told(file_.write(bytes)); }
  expected<void> publish() { return told(file_.publish()); }

  /// E0217 for a tensor that is not dense.
  [[nodiscard]] expected<void> check_dense(const std::string& name, const at::Tensor& tensor) const;
  /// E0217.
  [[nodiscard]] tl::unexpected<error> refused(const std::string& name, const std::string& finding,
                                              const std::string& fix) const;

 private:
  [[nodiscard]] expected<void> told(int number) const;

  std::string where_;
  file_replacement file_;
};

/// The content of a safetensors file, behind checks of save_weights(): dense tensors without two names. The header has
/// the order of the dict, and the data that of the size of an element, so that each is aligned.
expected<void> write_safetensors(weights_writing& to, const state_dict& dict);

/// The tensor on the CPU, in memory that has no other values.
at::Tensor apart(const at::Tensor& tensor);

}  // namespace troupe
