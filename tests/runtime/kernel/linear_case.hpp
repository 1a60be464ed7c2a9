#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernel/packed_linear.hpp"

namespace troupe::testing {

inline void fill_randomly(std::span<float> numbers, std::mt19937& random) {
  std::normal_distribution<float> normal;
  for (float& number : numbers) number = normal(random);
}

inline std::vector<float> random_numbers(std::int64_t count, std::mt19937& random) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  fill_randomly(numbers, random);
  return numbers;
}

/// One layer and some rows, all without gaps.
struct linear_case {
  std::int64_t rows = 0;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::vector<float> x = {};
  std::vector<float> weights = {};
  std::vector<float> bias = {};

  static linear_case random(std::int64_t rows, std::int64_t inputs, std::int64_t outputs, unsigned seed = 1) {
    std::mt19937 from(seed);
    return {rows,
            inputs,
            outputs,
            random_numbers(rows * inputs, from),
            random_numbers(outputs * inputs, from),
            random_numbers(outputs, from)};
  }

  packed_weights packed() const {
    return packed_weights(weight_matrix<float>{weights.data(), outputs, inputs, inputs, 1}, bias.data());
  }

  std::vector<float> run(const linear_settings& settings) const {
    std::vector<float> y(static_cast<std::size_t>(rows * outputs));
    packed_linear<float>(packed(), rows, {x.data(), inputs}, {y.data(), outputs}, settings);
    return y;
  }

  /// y by a plain loop: `step(sum, x, w)` for each input in ascending order, from the bias.
  template <class Sum, class Step>
  std::vector<Sum> by_loop(bool has_relu, Step step) const {
    std::vector<Sum> y;
    for (std::int64_t m = 0; m < rows; ++m) {
      for (std::int64_t n = 0; n < outputs; ++n) {
        Sum sum = bias[static_cast<std::size_t>(n)];
        for (std::int64_t k = 0; k < inputs; ++k) {
          sum =
              step(sum, x[static_cast<std::size_t>(m * inputs + k)], weights[static_cast<std::size_t>(n * inputs + k)]);
        }
        y.push_back(has_relu && sum < 0 ? 0 : sum);
      }
    }
    return y;
  }

  /// The chains that the contract names.
  std::vector<float> chains(bool has_relu = false) const {
    return by_loop<float>(has_relu, [](float sum, float a, float w) { return std::fma(a, w, sum); });
  }
};

/// With the one NaN of the contract in place of every NaN.
inline std::vector<std::uint32_t> bits_of(std::span<const float> numbers, bool one_nan = false) {
  std::vector<std::uint32_t> bits;
  for (const float number : numbers) {
    bits.push_back(one_nan && std::isnan(number) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(number));
  }
  return bits;
}

inline std::string name_of(vector_width width) {
  if (width == vector_width::avx512) return "AVX-512";
  return width == vector_width::avx2 ? "AVX2" : "portable";
}

}  // namespace troupe::testing
