#pragma once

#include <array>
#include <string>
#include <string_view>

#include <c10/core/ScalarType.h>

namespace troupe {

/// What inputs can be cast to, as data are named on the command line.
struct cast_name {
  std::string_view name;
  at::ScalarType dtype;
};

inline constexpr std::array cast_names = {
    cast_name{"float32", at::kFloat},
    cast_name{"float64", at::kDouble},
    cast_name{"float16", at::kHalf},
    cast_name{"bfloat16", at::kBFloat16},
};

/// Undefined: there is no type of that name.
constexpr at::ScalarType cast_type(std::string_view name) {
  for (const cast_name& each : cast_names) {
    if (each.name == name) return each.dtype;
  }
  return at::ScalarType::Undefined;
}

/// LibTorch's name where there is none here.
inline std::string cast_name_of(at::ScalarType dtype) {
  for (const cast_name& each : cast_names) {
    if (each.dtype == dtype) return std::string(each.name);
  }
  return c10::toString(dtype);
}

}  // namespace troupe
