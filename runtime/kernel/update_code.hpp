#pragma once

#include <cstdint>

#include "runtime/kernel/update_kernels.hpp"

// Plain loops, which the compiler turns into vectors of the width that it compiles the including file for. These files
// are compiled without contraction of products and sums: where PyTorch has a fused multiply-add, it is written out.
//
// `Width` is a type in an anonymous namespace of the file that includes this one, so the functions that the compiler
// makes stay within that file.

// No array that is written overlaps another one. AddressSanitizer looks at each element, which leaves no vectors.
#ifdef __SANITIZE_ADDRESS__
#define TROUPE_VECTOR_LOOP
#elif defined(__clang__)
#define TROUPE_VECTOR_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define TROUPE_VECTOR_LOOP _Pragma("GCC ivdep")
#endif

namespace troupe {

template <class Width>
struct update_loops {
  static float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
  static double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
  static float root(float a) { return __builtin_sqrtf(a); }
  static double root(double a) { return __builtin_sqrt(a); }
  static std::uint32_t is_odd(float a) {
    return (__builtin_bit_cast(std::uint32_t, a) & 0x7f800000U) == 0x7f800000U ? 1 : 0;
  }
  static std::uint64_t is_odd(double a) {
    return (__builtin_bit_cast(std::uint64_t, a) & 0x7ff0000000000000U) == 0x7ff0000000000000U ? 1 : 0;
  }

  template <class Number>
  static bool copy(Number* to, const Number* from, std::int64_t count) {
    decltype(is_odd(Number{})) odd = 0;
    TROUPE_VECTOR_LOOP
    for (std::int64_t i = 0; i < count; ++i) {
      odd |= is_odd(from[i]);
      to[i] = from[i];
    }
    return odd == 0;
  }

  template <class Number>
  static bool add(Number* sum, const Number* more, std::int64_t count) {
    decltype(is_odd(Number{})) odd = 0;
    TROUPE_VECTOR_LOOP
    for (std::int64_t i = 0; i < count; ++i) {
      const Number made = sum[i] + more[i];
      odd |= is_odd(made);
      sum[i] = made;
    }
    return odd == 0;
  }

  template <class Number>
  static double squares(const Number* from, std::int64_t count) {
    constexpr int lanes = 8;
    double sums[lanes] = {};
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
#pragma GCC unroll 8
      for (int lane = 0; lane < lanes; ++lane) {
        const double each = from[i + lane];
        sums[lane] += each * each;
      }
    }
    for (int lane = 0; i < count; ++i, ++lane) {
      const double each = from[i];
      sums[lane] += each * each;
    }
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  }

  template <class Number>
  static Number scaled(Number gradient, double scale) {
    return static_cast<Number>(static_cast<double>(gradient) * scale);
  }

  template <bool has_momentum, class Number>
  static void descend(const sgd_step& step, const update_arrays<Number>& at, std::int64_t count) {
    const Number* gradient = at.gradient;
    const Number* weights = at.weights;
    const Number* moment = at.moments[0];
    Number* new_weights = at.new_weights;
    Number* new_moment = at.new_moments[0];
    const double scale = step.gradient_scale;
    const auto decay = static_cast<Number>(step.weight_decay);
    const auto momentum = static_cast<Number>(step.momentum);
    const auto share = static_cast<Number>(1 - step.dampening);
    const auto rate = static_cast<Number>(-step.learning_rate);
    const bool has_decay = step.weight_decay != 0;
    const bool is_first = step.is_first;
    const bool nesterov = step.nesterov;
    TROUPE_VECTOR_LOOP
    for (std::int64_t i = 0; i < count; ++i) {
      Number g = scaled(gradient[i], scale);
      if (has_decay) g = fused(weights[i], decay, g);
      if constexpr (has_momentum) {
        const Number m = is_first ? g : fused(g, share, moment[i] * momentum);
        new_moment[i] = m;
        g = nesterov ? fused(m, momentum, g) : m;
      }
      new_weights[i] = fused(g, rate, weights[i]);
    }
  }

  template <class Number>
  static void sgd(const sgd_step& step, const update_arrays<Number>& at, std::int64_t count) {
    if (step.momentum != 0) {
      descend<true>(step, at, count);
    } else {
      descend<false>(step, at, count);
    }
  }

  template <bool has_largest, class Number>
  static void adapt(const adam_step& step, const update_arrays<Number>& at, std::int64_t count) {
    const Number* gradient = at.gradient;
    const Number* weights = at.weights;
    const Number* first = at.moments[0];
    const Number* second = at.moments[1];
    const Number* largest = at.moments[2];
    Number* new_weights = at.new_weights;
    Number* new_first = at.new_moments[0];
    Number* new_second = at.new_moments[1];
    Number* new_largest = at.new_moments[2];
    const auto number = static_cast<double>(step.number);
    const double correction_1 = 1 - __builtin_pow(step.beta_1, number);
    const double correction_2 = 1 - __builtin_pow(step.beta_2, number);
    const auto rate = static_cast<Number>(-(step.learning_rate / correction_1));
    const auto divisor = static_cast<Number>(__builtin_sqrt(correction_2));
    const auto eps = static_cast<Number>(step.eps);
    const auto beta_2 = static_cast<Number>(step.beta_2);
    const auto share_2 = static_cast<Number>(1 - step.beta_2);
    const auto share_1 = static_cast<Number>(1 - step.beta_1);
    // lerp starts from the nearer end
    const bool is_small = share_1 < static_cast<Number>(0.5);
    const Number coefficient = is_small ? share_1 : share_1 - 1;
    const double scale = step.gradient_scale;
    const bool adds_decay = step.weight_decay != 0 && !step.is_decoupled;
    const auto decay = static_cast<Number>(step.weight_decay);
    const auto kept = step.is_decoupled ? static_cast<Number>(1 - step.learning_rate * step.weight_decay) : Number{1};
    TROUPE_VECTOR_LOOP
    for (std::int64_t i = 0; i < count; ++i) {
      Number g = scaled(gradient[i], scale);
      const Number w = weights[i] * kept;
      if (adds_decay) g = fused(w, decay, g);
      const Number m = fused(coefficient, g - first[i], is_small ? first[i] : g);
      const Number v = fused(share_2 * g, g, second[i] * beta_2);
      new_first[i] = m;
      new_second[i] = v;
      Number bound = v;
      if constexpr (has_largest) {
        bound = largest[i] > v ? largest[i] : v;
        new_largest[i] = bound;
      }
      new_weights[i] = w + rate * m / (root(bound) / divisor + eps);
    }
  }

  template <class Number>
  static void adam(const adam_step& step, const update_arrays<Number>& at, std::int64_t count) {
    if (at.moments[2] != nullptr) {
      adapt<true>(step, at, count);
    } else {
      adapt<false>(step, at, count);
    }
  }

  template <class Number>
  static constexpr update_kernels<Number> all() {
    return {copy<Number>, add<Number>, squares<Number>, sgd<Number>, adam<Number>};
  }
};

extern const update_kernels<float> portable_updates;
extern const update_kernels<double> portable_double_updates;
extern const update_kernels<float> avx2_updates;
extern const update_kernels<double> avx2_double_updates;

}  // namespace troupe

#undef TROUPE_VECTOR_LOOP
