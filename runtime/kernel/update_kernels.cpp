#include "runtime/kernel/update_kernels.hpp"

#include <type_traits>

#include "runtime/kernel/update_code.hpp"

namespace troupe {

template <class Number>
const update_kernels<Number>& update_kernels_of(vector_width width) {
  constexpr bool is_float = std::is_same_v<Number, float>;
#ifdef __x86_64__
  // Memory is what these loops wait for: wider vectors than those of AVX2 have nothing to gain.
  if (width != vector_width::portable) {
    if constexpr (is_float)
      return avx2_updates;
    else
      return avx2_double_updates;
  }
#else
  static_cast<void>(width);
#endif
  if constexpr (is_float)
    return portable_updates;
  else
    return portable_double_updates;
}

template const update_kernels<float>& update_kernels_of(vector_width);
template const update_kernels<double>& update_kernels_of(vector_width);

}  // namespace troupe
