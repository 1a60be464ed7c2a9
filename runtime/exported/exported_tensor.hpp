#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <c10/core/ScalarType.h>

#include "runtime/json/json_part.hpp"
#include <troupe/error.hpp>

namespace troupe {

// The codes of torch/_export/serde/schema.py, which are not those of LibTorch. E0210 for one that is not known.
expected<c10::ScalarType> exported_dtype(const json_part& code);
expected<c10::Layout> exported_layout(const json_part& code);
expected<c10::MemoryFormat> exported_memory_format(const json_part& code);
/// A device of this machine: E0217 but for the CPU.
expected<void> check_device(const json_part& device);

/// What the file says of a tensor.
struct exported_tensor {
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  /// Nothing for a size that depends on the input.
  std::vector<std::optional<std::int64_t>> sizes = {};
  bool requires_grad = false;
};

/// Reads dtype, sizes, device and whether it is trained, and checks the layout: a dense tensor with strides.
expected<exported_tensor> tensor_meta(const json_part& meta);

/// {"as_int": 3}; nothing for a symbol.
expected<std::optional<std::int64_t>> exported_size(const json_part& size);

}  // namespace troupe
