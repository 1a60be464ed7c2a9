#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include "runtime/archive/zip_directory.hpp"
#include "runtime/weights/mapped_file.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What to do about a file that is damaged.
inline constexpr auto weights_copy_fix =
    "copy or download the file again and compare its size and checksum with the original's";
inline constexpr auto weights_save_fix =
    "save the state dict itself, in Python: torch.save(model.state_dict(), \"weights.pt\")";
inline constexpr auto weights_limits_fix = "save the weights alone, and use no file that you did not ask for";

/// More dimensions than any operator takes.
inline constexpr std::size_t weights_dimensions_max = 64;

/// One file of weights while it is read: what it may still take in memory, and its errors. The mapped pages take up to
/// the size of the file. All else (directories of names, pickled objects, unpacked entries, copies of tensors that are
/// not aligned) takes as much again and a constant, so that a file never takes more than twice its size and 64 MiB.
class weights_reading {
 public:
  explicit weights_reading(std::shared_ptr<const mapped_file> file)
      : file_(std::move(file)), left_(file_->bytes().size() + memory_bytes) {}

  [[nodiscard]] const std::shared_ptr<const mapped_file>& file() const noexcept { return file_; }
  [[nodiscard]] std::string_view bytes() const noexcept { return file_->bytes(); }
  [[nodiscard]] const std::string& where() const noexcept { return file_->where(); }
  [[nodiscard]] std::uint64_t memory_left() const noexcept { return left_; }
  /// False where so many bytes are not left.
  [[nodiscard]] bool take(std::uint64_t bytes) noexcept {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

  /// mapped_file::storage(); E0214 where a copy would take too much.
  expected<c10::Storage> storage(std::uint64_t offset, std::uint64_t count, std::uint64_t alignment,
                                 const std::string& name);

  // E0203, E0210, E0214 and E0217 of this file.
  [[nodiscard]] tl::unexpected<error> truncated(const std::string& finding) const;
  [[nodiscard]] tl::unexpected<error> damaged(const std::string& finding) const;
  [[nodiscard]] tl::unexpected<error> beyond_limits(const std::string& finding) const;
  [[nodiscard]] tl::unexpected<error> unsupported(const std::string& finding, const std::string& fix) const;
  /// E0203, E0210 or E0213.
  [[nodiscard]] tl::unexpected<error> of_zip(const zip_fault& fault) const;

 private:
  static constexpr std::uint64_t memory_bytes = 40u << 20;

  std::shared_ptr<const mapped_file> file_;
  std::uint64_t left_;
};

}  // namespace troupe
