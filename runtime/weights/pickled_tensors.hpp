#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include "runtime/weights/pickle_values.hpp"
#include "runtime/weights/reading.hpp"

namespace troupe {

/// What a pickle says of a storage, ("storage", torch.FloatStorage, "0", "cpu", 6): its device is left out, as all
/// tensors are read to the CPU.
struct pickled_storage {
  /// Its place in the file.
  std::string_view key;
  c10::ScalarType type = c10::ScalarType::Byte;
  std::uint64_t elements = 0;
  /// Where its memory must begin: a multiple of the size of the tensor's elements.
  std::uint64_t alignment = 1;
  [[nodiscard]] std::uint64_t bytes() const { return elements * c10::elementSize(type); }
};

/// The memory of a storage, the same one each time. It has the bytes that the pickle says.
using storage_finder = std::function<expected<c10::Storage>(const pickled_storage& storage)>;

/// The storage that an outside value stands for. E0210 for anything else; E0217 for quantized ones.
expected<pickled_storage> storage_in(const weights_reading& reading, const pickled_values& values,
                                     const pickled& outside);

/// The tensor that a call of torch._utils._rebuild_tensor_v2 and its like would give, or nn.Parameter of one. `name` is
/// its name in errors: E0210 where it lies outside of its storage, E0212 for what another call would give, E0217 for
/// other tensors than dense ones.
expected<at::Tensor> tensor_in(const weights_reading& reading, const pickled_values& values, const pickled& value,
                               const std::string& name, const storage_finder& find);

/// "a list", "a number", "what argparse.Namespace would make".
std::string kind_text(const pickled_values& values, const pickled& value);
/// The class or function that a made value is a call of: "argparse.Namespace".
std::string callee_text(const pickled_values& values, const pickled& made);

}  // namespace troupe
