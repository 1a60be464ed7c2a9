#pragma once

#include <filesystem>
#include <string>

#include <ATen/core/Tensor.h>

#include <troupe/weights.hpp>

namespace troupe::testing {

/// A file of recorded/, whose make_weights.py describes them.
std::filesystem::path recorded_weights(const std::string& name);

std::string bytes_of(const std::filesystem::path& file);

/// A folder of its own, gone at the end.
class weights_folder {
 public:
  weights_folder();
  ~weights_folder();
  weights_folder(const weights_folder&) = delete;
  weights_folder& operator=(const weights_folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }
  /// Writes a file in it.
  std::filesystem::path write(const std::string& name, const std::string& bytes) const;

 private:
  std::filesystem::path folder_;
};

/// The state dict; a failed expectation and an empty one where it cannot be read.
state_dict loaded(const std::filesystem::path& file);
/// The tensor of this name; an undefined one where there is none.
at::Tensor tensor_named(const state_dict& dict, const std::string& name);
/// The same type, sizes and bits.
bool equals_in_bits(const at::Tensor& a, const at::Tensor& b);
/// The same names and bits, in any order.
void expect_equal(const state_dict& found, const state_dict& wanted, const std::string& where);

/// What reading comes to: "good", or the error's text.
std::string weights_outcome(const std::filesystem::path& file);
/// The same. Checks that reading took at most twice the bytes of all files in its folder and 64 MiB of memory.
std::string bounded_weights_outcome(const std::filesystem::path& file);

}  // namespace troupe::testing
