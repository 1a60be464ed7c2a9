#pragma once

#include <cstdint>
#include <string>

#include <ATen/ATen.h>

namespace troupe::testing {

/// Weights and inputs by a formula, so that Python and C++ have the same ones without a file. Each function does what
/// the one of its name in tests/runtime/architecture/recorded/formula.py does, to the last bit.

inline std::uint32_t crc32_of(const std::string& text) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

/// SplitMix64, the upper 24 bits.
inline std::uint64_t formula_noise(std::uint64_t seed, std::int64_t index) {
  std::uint64_t z = seed + static_cast<std::uint64_t>(index) + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return (z ^ (z >> 31)) >> 40;
}

inline at::Tensor formula_uniform(const std::string& name, at::IntArrayRef sizes) {
  const std::uint64_t seed = std::uint64_t{crc32_of(name)} << 32;
  at::Tensor made = at::empty(sizes, at::kFloat);
  auto* const values = made.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < made.numel(); ++i) {
    values[i] = static_cast<float>(formula_noise(seed, i)) * 0x1p-23F - 1.0F;
  }
  return made;
}

inline at::Tensor formula_below(const std::string& name, at::IntArrayRef sizes, std::uint64_t end) {
  const std::uint64_t seed = std::uint64_t{crc32_of(name)} << 32;
  at::Tensor made = at::empty(sizes, at::kLong);
  auto* const values = made.mutable_data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < made.numel(); ++i) values[i] = static_cast<std::int64_t>(formula_noise(seed, i) % end);
  return made;
}

inline at::Tensor formula_weight(const std::string& name, at::IntArrayRef sizes) {
  const at::Tensor values = formula_uniform(name, sizes);
  if (name.ends_with("running_var")) return 1 + values / 2;
  if (sizes.size() >= 2) {
    double fan_in = 1;
    for (const std::int64_t each : sizes.slice(1)) fan_in *= static_cast<double>(each);
    double scale = 1;
    while (scale * scale * 3 < fan_in) scale *= 2;
    return values / scale;
  }
  return name.ends_with("weight") ? 1 + values / 8 : values / 8;
}

}  // namespace troupe::testing
