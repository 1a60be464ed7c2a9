#include <cstdint>

#include <immintrin.h>

#include "runtime/kernel/tile_code.hpp"

namespace troupe {
namespace {

struct bfloat16_bits {
  std::uint16_t bits;
};

struct avx512_vector {
  using numbers = __m512;
  static constexpr int width = 16;

  static __mmask16 first(std::int64_t count) {
    return static_cast<__mmask16>(count >= width ? 0xffff : count <= 0 ? 0 : (1 << count) - 1);
  }
  static numbers load(const float* from) { return _mm512_loadu_ps(from); }
  static numbers load(const bfloat16_bits* from) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i_u*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static numbers load_part(const float* from, std::int64_t count) { return _mm512_maskz_loadu_ps(first(count), from); }
  static void store_part(float* to, numbers from, std::int64_t count) { _mm512_mask_storeu_ps(to, first(count), from); }
  static numbers broadcast(float number) { return _mm512_set1_ps(number); }
  static numbers multiply_add(numbers a, numbers b, numbers c) { return _mm512_fmadd_ps(a, b, c); }
  /// For two zeros, and where an operand is NaN, max gives its second operand. NaN becomes the NaN of the contract.
  static numbers finish(numbers sum, bool has_relu) {
    if (has_relu) sum = _mm512_max_ps(_mm512_setzero_ps(), sum);
    const __mmask16 is_nan = _mm512_cmp_ps_mask(sum, sum, _CMP_UNORD_Q);
    return _mm512_mask_blend_ps(is_nan, sum, _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000)));
  }
};

}  // namespace

constinit const tile_set avx512_tiles = tiles_of<avx512_vector, float, 8, 4, 4>();
constinit const tile_set avx512_bfloat16_tiles = tiles_of<avx512_vector, bfloat16_bits, 8, 4, 4>();

}  // namespace troupe
