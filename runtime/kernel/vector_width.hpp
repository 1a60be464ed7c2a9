#pragma once

#include <span>

namespace troupe {

/// The instructions that a kernel uses. All of them give the same bits.
enum class vector_width {
  portable,  ///< std::fma, one number at a time; slow where the processor has no such instruction
  avx2,      ///< AVX2 and FMA: 8 numbers
  avx512,    ///< AVX-512F: 16 numbers
};

/// What this processor and its operating system can run, the narrowest first. Found out once; at least `portable`.
std::span<const vector_width> usable_vector_widths();

/// The widest of them.
vector_width widest_vector_width();

}  // namespace troupe
