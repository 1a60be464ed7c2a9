#include <bit>
#include <cmath>
#include <cstdint>

#include "runtime/kernel/bfloat16.hpp"
#include "runtime/kernel/tile_code.hpp"

namespace troupe {
namespace {

struct portable_vector {
  static constexpr int width = 4;
  struct numbers {
    float of[width];
  };

  static numbers load(const float* from) { return load_part(from, width); }
  static numbers load(const bfloat16* from) {
    return {widened(from[0]), widened(from[1]), widened(from[2]), widened(from[3])};
  }
  static numbers load_part(const float* from, std::int64_t count) {
    numbers loaded{};
    for (int i = 0; i < width && i < count; ++i) loaded.of[i] = from[i];
    return loaded;
  }
  static void store_part(float* to, const numbers& from, std::int64_t count) {
    for (int i = 0; i < width && i < count; ++i) to[i] = from.of[i];
  }
  static numbers broadcast(float number) { return {number, number, number, number}; }
  static numbers multiply_add(const numbers& a, const numbers& b, const numbers& c) {
    numbers sums;
    for (int i = 0; i < width; ++i) sums.of[i] = std::fma(a.of[i], b.of[i], c.of[i]);
    return sums;
  }
  static numbers finish(numbers sums, bool has_relu) {
    for (float& sum : sums.of) {
      if (has_relu && sum < 0) sum = 0;
      if (std::isnan(sum)) sum = std::bit_cast<float>(0x7fc00000U);
    }
    return sums;
  }
};

}  // namespace

constinit const tile_set portable_tiles = tiles_of<portable_vector, float, 1, 1, 1>();
constinit const tile_set portable_bfloat16_tiles = tiles_of<portable_vector, bfloat16, 1, 1, 1>();

}  // namespace troupe
