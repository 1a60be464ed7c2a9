#include "runtime/metric/odd_outputs.hpp"

#include <cmath>
#include <cstring>
#include <span>

namespace troupe {

namespace {

/// The exponent of NaN and infinity has ones only. Its lowest bit added to such an exponent carries into the sign,
/// which was masked out, and never into the number beside it: several numbers are looked at in one word.
template <class T>
struct exponent;
template <>
struct exponent<double> {
  static constexpr std::uint64_t mask = 0x7ff0'0000'0000'0000;
  static constexpr std::uint64_t lowest = 0x0010'0000'0000'0000;
  static constexpr std::uint64_t sign = 0x8000'0000'0000'0000;
};
template <>
struct exponent<float> {
  static constexpr std::uint64_t mask = 0x7f80'0000'7f80'0000;
  static constexpr std::uint64_t lowest = 0x0080'0000'0080'0000;
  static constexpr std::uint64_t sign = 0x8000'0000'8000'0000;
};
template <>
struct exponent<at::Half> {
  static constexpr std::uint64_t mask = 0x7c00'7c00'7c00'7c00;
  static constexpr std::uint64_t lowest = 0x0400'0400'0400'0400;
  static constexpr std::uint64_t sign = 0x8000'8000'8000'8000;
};
template <>
struct exponent<at::BFloat16> {
  static constexpr std::uint64_t mask = 0x7f80'7f80'7f80'7f80;
  static constexpr std::uint64_t lowest = 0x0080'0080'0080'0080;
  static constexpr std::uint64_t sign = 0x8000'8000'8000'8000;
};

template <class T>
bool has_odd_value(std::span<const T> values) noexcept {
  const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  const std::size_t end = values.size_bytes();
  std::uint64_t found = 0;
  std::size_t at = 0;
  for (; at + sizeof(std::uint64_t) <= end; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, sizeof(word));
    found |= (word & exponent<T>::mask) + exponent<T>::lowest;
  }
  std::uint64_t rest = 0;  // the numbers that are left, and zeros
  std::memcpy(&rest, bytes + at, end - at);
  found |= (rest & exponent<T>::mask) + exponent<T>::lowest;
  return (found & exponent<T>::sign) != 0;
}

template <class T>
odd_samples count_in(const at::Tensor& outputs) {
  const at::Tensor rows = outputs.contiguous();
  const std::span<const T> all(rows.const_data_ptr<T>(), static_cast<std::size_t>(rows.numel()));
  odd_samples found;
  if (all.empty() || !has_odd_value(all)) return found;
  const std::size_t width = all.size() / static_cast<std::size_t>(rows.size(0));
  for (std::size_t begin = 0; begin < all.size(); begin += width) {
    bool has_nan = false;
    bool has_infinity = false;
    for (const T each : all.subspan(begin, width)) {
      const auto value = static_cast<double>(each);
      has_nan |= std::isnan(value);
      has_infinity |= std::isinf(value);
    }
    found.with_nan += has_nan ? 1U : 0U;
    found.with_infinity += has_infinity ? 1U : 0U;
  }
  return found;
}

}  // namespace

odd_samples count_odd_samples(const at::Tensor& outputs) {
  if (outputs.layout() != at::kStrided || !outputs.device().is_cpu() || outputs.dim() == 0) return {};
  switch (outputs.scalar_type()) {
    case at::kDouble:
      return count_in<double>(outputs);
    case at::kFloat:
      return count_in<float>(outputs);
    case at::kHalf:
      return count_in<at::Half>(outputs);
    case at::kBFloat16:
      return count_in<at::BFloat16>(outputs);
    default:
      return {};
  }
}

}  // namespace troupe
