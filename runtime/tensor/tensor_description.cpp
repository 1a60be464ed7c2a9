#include "runtime/tensor/tensor_description.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <c10/util/strides.h>

#include "messages/limits.hpp"

namespace troupe {

bool has_whole_bytes(at::ScalarType type) {
  switch (type) {
    case at::kByte:
    case at::kChar:
    case at::kShort:
    case at::kInt:
    case at::kLong:
    case at::kHalf:
    case at::kBFloat16:
    case at::kFloat:
    case at::kDouble:
    case at::kBool:
    case at::kComplexFloat:
    case at::kComplexDouble:
    case at::kUInt16:
    case at::kUInt32:
    case at::kUInt64:
    case at::kFloat8_e5m2:
    case at::kFloat8_e4m3fn:
      return true;
    default:
      return false;
  }
}

std::string why_no_bytes(const at::Tensor& tensor) {
  if (tensor.is_nested()) return "is nested";
  if (tensor.layout() != at::kStrided) return "is sparse";
  if (!tensor.device().is_cpu()) return "is on " + tensor.device().str();
  const std::string type = c10::toString(tensor.scalar_type());
  if (tensor.is_quantized()) {
    const auto scale = affine_scale_of(tensor);
    if (scale && !is_sound(*scale, tensor.scalar_type())) return "is quantized (" + type + ") with an impossible scale";
    if (!scale) return "is quantized (" + type + ") with more than one scale";
  } else if (!has_whole_bytes(tensor.scalar_type())) {
    return "has elements of type " + type;
  }
  const auto dimensions = static_cast<std::size_t>(tensor.dim());
  if (dimensions <= limits::wire_dimensions_max) return {};
  return "has " + std::to_string(dimensions) + " dimensions, more than " + std::to_string(limits::wire_dimensions_max);
}

bool is_plain(const at::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() && !tensor.is_conj() && !tensor.is_neg() && !tensor._is_zerotensor();
}

at::DimVector strides_of(const at::Tensor& tensor) {
  if (tensor.is_non_overlapping_and_dense()) return at::DimVector(tensor.strides());
  return c10::contiguous_strides(tensor.sizes());
}

namespace {

/// Gaps up to three times the values: a third of a tensor of queries, keys and values is sent with its strides.
constexpr std::uint64_t span_share_max = 4;

/// Elements from the first to the last one. The tensor has elements.
std::uint64_t span_of(const at::Tensor& tensor) {
  std::uint64_t span = 1;
  for (std::int64_t d = 0; d < tensor.dim(); ++d)
    span += static_cast<std::uint64_t>(tensor.size(d) - 1) * static_cast<std::uint64_t>(tensor.stride(d));
  return span;
}

}  // namespace

bool is_sent_as_it_lies(const at::Tensor& tensor) {
  if (is_plain(tensor)) return true;
  if (tensor.is_conj() || tensor.is_neg() || tensor._is_zerotensor() || tensor.is_quantized()) return false;
  return tensor.numel() > 0 && span_of(tensor) <= span_share_max * static_cast<std::uint64_t>(tensor.numel());
}

std::size_t sent_bytes(const at::Tensor& tensor) {
  if (is_plain(tensor) || !is_sent_as_it_lies(tensor)) return tensor.nbytes();
  return span_of(tensor) * tensor.element_size();
}

std::size_t described_bytes(const at::Tensor& tensor, const std::string& name) {
  const std::size_t scale_words = tensor.is_quantized() ? 2 : 0;
  return (2 + scale_words) * word_bytes + round_up(name.size(), word_bytes) +
         2 * word_bytes * static_cast<std::size_t>(tensor.dim());
}

void describe(const at::Tensor& tensor, const std::string& name, std::size_t offset, word_writer& out) {
  const auto dimensions = static_cast<std::uint64_t>(tensor.dim());
  out.word(static_cast<std::uint64_t>(tensor.scalar_type()) | dimensions << 8 |
           static_cast<std::uint64_t>(name.size()) << 16);
  out.text(name);
  out.word(offset);
  const at::DimVector strides = is_sent_as_it_lies(tensor) ? at::DimVector(tensor.strides()) : strides_of(tensor);
  for (std::size_t dimension = 0; dimension < strides.size(); ++dimension) {
    out.word(static_cast<std::uint64_t>(tensor.sizes()[dimension]));
    out.word(static_cast<std::uint64_t>(strides[dimension]));
  }
  if (const auto scale = affine_scale_of(tensor)) {
    out.word(std::bit_cast<std::uint64_t>(scale->scale));
    out.word(static_cast<std::uint64_t>(scale->zero_point));
  }
}

std::optional<described_tensor> read_description(word_reader& in) {
  const auto first = in.word();
  if (!first) return std::nullopt;
  described_tensor made;
  made.type = static_cast<at::ScalarType>(*first & 0xff);
  const std::size_t dimensions = *first >> 8 & 0xff;
  const std::size_t name_bytes = *first >> 16;
  const bool is_quantized = c10::isQIntType(made.type);
  if ((!has_whole_bytes(made.type) && !is_quantized) || dimensions > limits::wire_dimensions_max ||
      name_bytes > limits::wire_tensor_name_bytes_max) {
    return std::nullopt;
  }
  auto name = in.text(name_bytes);
  const auto offset = in.word();
  if (!name || !offset) return std::nullopt;
  made.name = std::move(*name);
  made.offset = *offset;
  for (std::size_t dimension = 0; dimension < dimensions; ++dimension) {
    const auto size = in.word();
    const auto stride = in.word();
    if (!size || !stride) return std::nullopt;
    made.sizes.push_back(static_cast<std::int64_t>(*size));
    made.strides.push_back(static_cast<std::int64_t>(*stride));
  }
  if (!is_quantized) return made;
  const auto scale = in.word();
  const auto zero_point = in.word();
  if (!scale || !zero_point) return std::nullopt;
  made.scale = {.scale = std::bit_cast<double>(*scale), .zero_point = static_cast<std::int64_t>(*zero_point)};
  if (!is_sound(*made.scale, made.type)) return std::nullopt;
  return made;
}

std::optional<std::size_t> spanned_bytes(const described_tensor& what, std::size_t most) {
  constexpr std::uint64_t shared_max = 16;
  constexpr std::uint64_t bytes_max = std::uint64_t{1} << 40;  // no product below overflows
  if (std::ranges::find(what.sizes, 0) != what.sizes.end()) return dense_bytes(what, most);
  const std::uint64_t item = c10::elementSize(what.type);
  const std::uint64_t span_max = std::min<std::uint64_t>(most, bytes_max) / item;
  std::uint64_t span = 1;
  std::uint64_t elements = 1;
  for (std::size_t dimension = 0; dimension < what.sizes.size(); ++dimension) {
    if (what.sizes[dimension] < 0 || what.strides[dimension] < 0) return std::nullopt;
    const auto steps = static_cast<std::uint64_t>(what.sizes[dimension]) - 1;
    const auto stride = static_cast<std::uint64_t>(what.strides[dimension]);
    if (stride > 0 && steps > span_max / stride) return std::nullopt;
    span += steps * stride;
    if (span > span_max || steps + 1 > shared_max * span_max / elements) return std::nullopt;
    elements *= steps + 1;
  }
  return span * item;
}

std::optional<std::size_t> dense_bytes(const described_tensor& what, std::size_t most) {
  const std::size_t item = c10::elementSize(what.type);
  c10::SmallVector<std::pair<std::int64_t, std::int64_t>, 8> by_stride;
  for (std::size_t dimension = 0; dimension < what.sizes.size(); ++dimension) {
    if (what.sizes[dimension] < 0 || what.strides[dimension] < 0) return std::nullopt;
    by_stride.emplace_back(what.strides[dimension], what.sizes[dimension]);
  }
  std::sort(by_stride.begin(), by_stride.end());
  // An empty tensor's strides say nothing, and its other sizes are bounded all the same.
  const bool is_empty = std::ranges::find(what.sizes, 0) != what.sizes.end();
  if (is_empty) most = std::size_t{1} << 40;
  std::uint64_t elements = 1;
  for (const auto& [stride, size] : by_stride) {
    if (size <= 1) continue;
    if (!is_empty && static_cast<std::uint64_t>(stride) != elements) return std::nullopt;
    if (static_cast<std::uint64_t>(size) > most / elements) return std::nullopt;
    elements *= static_cast<std::uint64_t>(size);
  }
  if (is_empty) return 0;
  if (elements > most / item) return std::nullopt;
  return elements * item;
}

}  // namespace troupe
