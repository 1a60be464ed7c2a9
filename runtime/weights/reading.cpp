#include "runtime/weights/reading.hpp"

namespace troupe {

expected<c10::Storage> weights_reading::storage(std::uint64_t offset, std::uint64_t count, std::uint64_t alignment,
                                                const std::string& name) {
  if (!file_->is_aligned(offset, alignment) && !take(count)) {
    return beyond_limits("a copy of " + name + " would take more memory than a file of this size may");
  }
  return mapped_file::storage(file_, offset, count, alignment);
}

tl::unexpected<error> weights_reading::truncated(const std::string& finding) const {
  return fail(error_code::model_truncated, where(), "the file is truncated: " + finding, weights_copy_fix);
}

tl::unexpected<error> weights_reading::damaged(const std::string& finding) const {
  return fail(error_code::model_unreadable, where(), "the file is damaged: " + finding, weights_copy_fix);
}

tl::unexpected<error> weights_reading::beyond_limits(const std::string& finding) const {
  return fail(error_code::model_beyond_limits, where(), finding, weights_limits_fix);
}

tl::unexpected<error> weights_reading::unsupported(const std::string& finding, const std::string& fix) const {
  return fail(error_code::model_unsupported, where(), finding, fix);
}

tl::unexpected<error> weights_reading::of_zip(const zip_fault& fault) const {
  switch (fault.what) {
    case zip_fault::kind::truncated:
      return truncated(fault.cause);
    case zip_fault::kind::altered:
      return fail(error_code::model_damaged, where(), "the file is damaged: " + fault.cause, weights_copy_fix);
    case zip_fault::kind::damaged:
      break;
  }
  return damaged(fault.cause);
}

}  // namespace troupe
