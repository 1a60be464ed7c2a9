#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace troupe::testing {

/// Random numbers and tensors of one seed: the same on every machine, with one version of LibTorch.
class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed), generator_(at::detail::createCPUGenerator(seed)) {}

  /// 0 to `count` - 1.
  std::uint64_t below(std::uint64_t count) { return engine_() % count; }
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last - first + 1)));
  }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  template <typename Value>
  Value one_of(const std::vector<Value>& values) {
    return values[below(values.size())];
  }

  /// Normal, with this standard deviation.
  at::Tensor normal(const std::vector<std::int64_t>& sizes, double deviation, at::ScalarType dtype) {
    return (at::randn(sizes, generator_, at::kDouble) * deviation).to(dtype);
  }
  at::Tensor uniform(const std::vector<std::int64_t>& sizes, double least, double most, at::ScalarType dtype) {
    return (at::rand(sizes, generator_, at::kDouble) * (most - least) + least).to(dtype);
  }
  /// Of either sign, and none near zero.
  at::Tensor away_from_zero(const std::vector<std::int64_t>& sizes, at::ScalarType dtype) {
    const at::Tensor sign = at::rand(sizes, generator_, at::kDouble).lt(0.5).to(at::kDouble) * 2 - 1;
    return (uniform(sizes, 0.5, 2, at::kDouble) * sign).to(dtype);
  }

 private:
  std::mt19937_64 engine_;
  std::optional<at::Generator> generator_;
};

}  // namespace troupe::testing
