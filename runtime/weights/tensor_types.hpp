#pragma once

#include <optional>
#include <string_view>

#include <c10/core/ScalarType.h>

namespace troupe {

/// The types of safetensors: "F32", "BF16". Nothing for one that LibTorch does not have.
std::optional<c10::ScalarType> safetensors_type(std::string_view name);
/// Its name in safetensors; empty where it has none.
std::string_view safetensors_name(c10::ScalarType type);
/// A type that the format has and LibTorch has not: of less than a byte.
bool is_narrow_safetensors_type(std::string_view name);

/// The element of a storage class of PyTorch: "FloatStorage". Nothing for quantized and unknown ones.
std::optional<c10::ScalarType> storage_type(std::string_view class_name);
/// The storage class that torch.load knows for the type: "FloatStorage"; empty for types that have none.
std::string_view storage_class(c10::ScalarType type);
/// A dtype as Python names it in the module torch: "float32".
std::optional<c10::ScalarType> python_type(std::string_view name);
std::string_view python_name(c10::ScalarType type);

}  // namespace troupe
