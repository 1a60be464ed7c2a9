#include <cstdint>

#include <immintrin.h>

#include "runtime/kernel/tile_code.hpp"

namespace troupe {
namespace {

struct bfloat16_bits {
  std::uint16_t bits;
};

struct avx2_vector {
  using numbers = __m256;
  static constexpr int width = 8;

  static __m256i first(std::int64_t count) {
    const int bounded = count > width ? width : static_cast<int>(count);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(bounded), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static numbers load(const float* from) { return _mm256_loadu_ps(from); }
  static numbers load(const bfloat16_bits* from) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static numbers load_part(const float* from, std::int64_t count) {
    return count >= width ? load(from) : count <= 0 ? _mm256_setzero_ps() : _mm256_maskload_ps(from, first(count));
  }
  static void store_part(float* to, numbers from, std::int64_t count) {
    if (count >= width) {
      _mm256_storeu_ps(to, from);
    } else if (count > 0) {
      _mm256_maskstore_ps(to, first(count), from);
    }
  }
  static numbers broadcast(float number) { return _mm256_set1_ps(number); }
  static numbers multiply_add(numbers a, numbers b, numbers c) { return _mm256_fmadd_ps(a, b, c); }
  /// For two zeros, and where an operand is NaN, max gives its second operand. NaN becomes the NaN of the contract.
  static numbers finish(numbers sum, bool has_relu) {
    if (has_relu) sum = _mm256_max_ps(_mm256_setzero_ps(), sum);
    const numbers is_nan = _mm256_cmp_ps(sum, sum, _CMP_UNORD_Q);
    return _mm256_blendv_ps(sum, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)), is_nan);
  }
};

}  // namespace

constinit const tile_set avx2_tiles = tiles_of<avx2_vector, float, 4, 2, 1>();
constinit const tile_set avx2_bfloat16_tiles = tiles_of<avx2_vector, bfloat16_bits, 4, 2, 1>();

}  // namespace troupe
