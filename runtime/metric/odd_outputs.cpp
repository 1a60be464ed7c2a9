#include "runtime/metric/odd_outputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

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

constexpr std::uint8_t nan_mark = 1;
constexpr std::uint8_t infinity_mark = 2;

/// Marks the samples with odd values; `marks` is empty until there is one.
template <class T>
void mark_in(const at::Tensor& outputs, std::vector<std::uint8_t>& marks) {
  const at::Tensor rows = outputs.contiguous();
  const std::span<const T> all(rows.const_data_ptr<T>(), static_cast<std::size_t>(rows.numel()));
  if (all.empty() || !has_odd_value(all)) return;
  const auto samples = static_cast<std::size_t>(rows.size(0));
  marks.resize(std::max(marks.size(), samples), 0);
  const std::size_t width = all.size() / samples;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto value = static_cast<double>(all[i]);
    if (std::isnan(value)) marks[i / width] |= nan_mark;
    if (std::isinf(value)) marks[i / width] |= infinity_mark;
  }
}

void mark_odd(const at::Tensor& outputs, std::vector<std::uint8_t>& marks) {
  if (!outputs.defined() || outputs.layout() != at::kStrided || !outputs.device().is_cpu() || outputs.dim() == 0)
    return;
  switch (outputs.scalar_type()) {
    case at::kDouble:
      return mark_in<double>(outputs, marks);
    case at::kFloat:
      return mark_in<float>(outputs, marks);
    case at::kHalf:
      return mark_in<at::Half>(outputs, marks);
    case at::kBFloat16:
      return mark_in<at::BFloat16>(outputs, marks);
    default:
      return;
  }
}

}  // namespace

odd_samples count_odd_samples(std::span<const at::Tensor* const> outputs) {
  std::vector<std::uint8_t> marks;
  for (const at::Tensor* each : outputs) mark_odd(*each, marks);
  odd_samples found;
  for (const std::uint8_t mark : marks) {
    found.with_nan += (mark & nan_mark) != 0 ? 1U : 0U;
    found.with_infinity += (mark & infinity_mark) != 0 ? 1U : 0U;
  }
  return found;
}

}  // namespace troupe
