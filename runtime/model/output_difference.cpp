#include "runtime/model/output_difference.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace troupe {
namespace {

std::string form_of(const at::Tensor& one) {
  std::ostringstream text;
  text << c10::toString(one.scalar_type()) << " " << one.sizes();
  if (one.layout() != at::kStrided) text << " of layout " << one.layout();
  return text.str();
}

std::string strides_of(const at::Tensor& one) {
  std::ostringstream text;
  text << one.strides();
  return text.str();
}

/// The stride of a dimension with one entry is never used.
bool have_same_strides(const at::Tensor& one, const at::Tensor& other) {
  if (one.layout() != at::kStrided || one.numel() == 0) return true;
  for (std::int64_t d = 0; d < one.dim(); ++d) {
    if (one.size(d) > 1 && one.stride(d) != other.stride(d)) return false;
  }
  return true;
}

std::string number_text(double value) {
  std::ostringstream text;
  text.precision(2);
  text << value;
  return text.str();
}

at::Tensor as_numbers(const at::Tensor& one) {
  at::Tensor whole = one.layout() == at::kStrided ? one : one.to_dense();
  whole = whole.resolve_conj().resolve_neg();
  if (whole.is_complex()) whole = at::view_as_real(whole);
  return whole.to(at::kDouble);
}

/// Zero where the value is finite, so that two of them can be compared.
at::Tensor only_infinite(const at::Tensor& values) {
  return at::where(at::isinf(values), values, at::zeros({}, values.options()));
}

double largest_of(const at::Tensor& magnitudes) {
  return magnitudes.numel() == 0 ? 0.0 : magnitudes.max().item<double>();
}

std::optional<std::string> difference_of_values(const at::Tensor& optimized, const at::Tensor& plain, double share) {
  if (!at::equal(at::isnan(optimized), at::isnan(plain))) return "NaN stands at other places";
  if (!at::equal(only_infinite(optimized), only_infinite(plain))) return "an infinity stands at other places";
  const at::Tensor finite = at::isfinite(plain);
  const at::Tensor nothing = at::zeros({}, plain.options());
  const double scale = largest_of(at::where(finite, plain, nothing).abs());
  const double largest = largest_of(at::where(finite, optimized - plain, nothing).abs());
  if (largest <= share * scale) return std::nullopt;
  return "outputs differ by up to " + number_text(largest) + ", the largest being " + number_text(scale) +
         " (allowed is " + number_text(share) + " times that)";
}

}  // namespace

double tolerance_of(c10::ScalarType dtype) {
  constexpr double double_share = 0x1p7 * std::numeric_limits<double>::epsilon();
  constexpr double float_share = 0x1p7 * std::numeric_limits<float>::epsilon();
  constexpr double half_share = 0x1p3 * 0x1p-10;
  constexpr double bfloat16_share = 0x1p2 * 0x1p-7;
  switch (c10::isComplexType(dtype) ? c10::toRealValueType(dtype) : dtype) {
    case at::kDouble:
      return double_share;
    case at::kFloat:
      return float_share;
    case at::kHalf:
      return half_share;
    case at::kBFloat16:
      return bfloat16_share;
    default:
      return 0;
  }
}

std::optional<std::string> difference_of(const at::Tensor& optimized, const at::Tensor& plain) {
  if (optimized.scalar_type() != plain.scalar_type() || optimized.layout() != plain.layout() ||
      optimized.sizes() != plain.sizes()) {
    return "it gives " + form_of(optimized) + " in place of " + form_of(plain);
  }
  if (!have_same_strides(optimized, plain)) {
    return "its output has the strides " + strides_of(optimized) + " in place of " + strides_of(plain);
  }
  const double share = tolerance_of(plain.scalar_type());
  if (share > 0) return difference_of_values(as_numbers(optimized), as_numbers(plain), share);
  if (at::equal(optimized, plain)) return std::nullopt;
  return std::string("outputs of ") + c10::toString(plain.scalar_type()) + " differ";
}

bool are_same_bits(const at::Tensor& one, const at::Tensor& other) {
  if (one.scalar_type() != other.scalar_type() || one.layout() != other.layout()) return false;
  if (one.is_nested() || other.is_nested()) return one.is_nested() == other.is_nested();
  if (one.sizes() != other.sizes()) return false;
  if (one.layout() != at::kStrided) return are_same_bits(one.to_dense(), other.to_dense());
  if (one.strides() != other.strides()) return false;
  const at::Tensor here = one.cpu().resolve_conj().resolve_neg().contiguous();
  const at::Tensor there = other.cpu().resolve_conj().resolve_neg().contiguous();
  return here.nbytes() == 0 || std::memcmp(here.const_data_ptr(), there.const_data_ptr(), here.nbytes()) == 0;
}

}  // namespace troupe
