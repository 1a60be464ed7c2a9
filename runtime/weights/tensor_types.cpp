#include "runtime/weights/tensor_types.hpp"

#include <algorithm>
#include <array>

namespace troupe {
namespace {

struct type_names {
  c10::ScalarType type;
  std::string_view safetensors;
  std::string_view storage;
  std::string_view python;
};

using c10::ScalarType;

constexpr std::array types{
    type_names{ScalarType::Double, "F64", "DoubleStorage", "float64"},
    type_names{ScalarType::Float, "F32", "FloatStorage", "float32"},
    type_names{ScalarType::Half, "F16", "HalfStorage", "float16"},
    type_names{ScalarType::BFloat16, "BF16", "BFloat16Storage", "bfloat16"},
    type_names{ScalarType::Long, "I64", "LongStorage", "int64"},
    type_names{ScalarType::Int, "I32", "IntStorage", "int32"},
    type_names{ScalarType::Short, "I16", "ShortStorage", "int16"},
    type_names{ScalarType::Char, "I8", "CharStorage", "int8"},
    type_names{ScalarType::Byte, "U8", "ByteStorage", "uint8"},
    type_names{ScalarType::Bool, "BOOL", "BoolStorage", "bool"},
    type_names{ScalarType::ComplexFloat, "C64", "ComplexFloatStorage", "complex64"},
    type_names{ScalarType::ComplexDouble, "", "ComplexDoubleStorage", "complex128"},
    type_names{ScalarType::ComplexHalf, "", "", "complex32"},
    type_names{ScalarType::UInt16, "U16", "", "uint16"},
    type_names{ScalarType::UInt32, "U32", "", "uint32"},
    type_names{ScalarType::UInt64, "U64", "", "uint64"},
    type_names{ScalarType::Float8_e4m3fn, "F8_E4M3", "", "float8_e4m3fn"},
    type_names{ScalarType::Float8_e5m2, "F8_E5M2", "", "float8_e5m2"},
    type_names{ScalarType::Float8_e8m0fnu, "F8_E8M0", "", "float8_e8m0fnu"},
    type_names{ScalarType::Float8_e4m3fnuz, "", "", "float8_e4m3fnuz"},
    type_names{ScalarType::Float8_e5m2fnuz, "", "", "float8_e5m2fnuz"},
};

std::optional<ScalarType> type_named(std::string_view type_names::*names, std::string_view name) {
  if (name.empty()) return std::nullopt;
  const auto* found = std::ranges::find(types, name, names);
  return found == types.end() ? std::nullopt : std::optional(found->type);
}

std::string_view name_of(std::string_view type_names::*names, ScalarType type) {
  const auto* found = std::ranges::find(types, type, &type_names::type);
  return found == types.end() ? std::string_view() : found->*names;
}

}  // namespace

std::optional<ScalarType> safetensors_type(std::string_view name) {
  return type_named(&type_names::safetensors, name);
}
std::string_view safetensors_name(ScalarType type) {
  return name_of(&type_names::safetensors, type);
}
bool is_narrow_safetensors_type(std::string_view name) {
  return name == "F4" || name == "F6_E2M3" || name == "F6_E3M2";
}

std::optional<ScalarType> storage_type(std::string_view class_name) {
  return type_named(&type_names::storage, class_name);
}
std::string_view storage_class(ScalarType type) {
  return name_of(&type_names::storage, type);
}
std::optional<ScalarType> python_type(std::string_view name) {
  return type_named(&type_names::python, name);
}
std::string_view python_name(ScalarType type) {
  return name_of(&type_names::python, type);
}

}  // namespace troupe
