#include "bench/zoo/same_outputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <ATen/ATen.h>

namespace troupe::bench {
namespace {

constexpr std::uint64_t hash_factor = 1099511628211ULL;  // FNV's prime

std::uint64_t hash_of(const at::Tensor& tensor) {
  const auto* bytes = static_cast<const unsigned char*>(tensor.const_data_ptr());
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < tensor.nbytes(); ++i) hash = (hash ^ bytes[i]) * hash_factor;
  return hash;
}

std::uint64_t differing_elements(const at::Tensor& a, const at::Tensor& b) {
  const auto* left = static_cast<const unsigned char*>(a.const_data_ptr());
  const auto* right = static_cast<const unsigned char*>(b.const_data_ptr());
  const std::size_t step = a.element_size();
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < a.nbytes(); i += step) count += std::memcmp(left + i, right + i, step) == 0 ? 0 : 1;
  return count;
}

}  // namespace

expected<void> same_outputs::update(const at::Tensor& outputs, const at::Tensor& labels,
                                    compared_outputs& state) const {
  const at::Tensor given = outputs.contiguous();
  const at::Tensor wanted = labels.contiguous();
  state.hash = hash_of(given);
  if (given.sizes() != wanted.sizes() || given.scalar_type() != wanted.scalar_type()) {
    state.differing = static_cast<std::uint64_t>(wanted.numel());
    state.difference = std::numeric_limits<double>::infinity();
    return {};
  }
  state.differing = differing_elements(given, wanted);
  if (wanted.numel() == 0) return {};
  state.magnitude = wanted.to(at::kDouble).abs().max().item<double>();
  const double difference = (given.to(at::kDouble) - wanted.to(at::kDouble)).abs().max().item<double>();
  if (state.differing != 0)
    state.difference = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
  return {};
}

void same_outputs::merge(compared_outputs& total, const compared_outputs& part) const {
  total.differing += part.differing;
  total.hash = total.hash * hash_factor + part.hash;
  total.difference = std::max(total.difference, part.difference);
  total.magnitude = std::max(total.magnitude, part.magnitude);
}

metric_value same_outputs::compute(const compared_outputs& total) const {
  const double relative = total.difference == 0 ? 0 : total.difference / total.magnitude;
  return {
      name(),
      {count_field("differing", total.differing), count_field("hash", total.hash), real_field("relative", relative)}};
}

}  // namespace troupe::bench
