#pragma once

#include <array>
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

}  // namespace troupe
