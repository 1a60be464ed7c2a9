#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ops/from_blob.h>

#include <troupe/messages/check.hpp>
#include <troupe/messages/limits.hpp>
#include <troupe/runtime/tensor/tensor_codec.hpp>
#include <troupe/runtime/tensor/tensor_set.hpp>

namespace troupe {
namespace {

constexpr std::uint64_t magic = 0x5452'5054'0001'0000;  // "TRPT", layout 1; the count is in the low 16 bits
constexpr std::uint64_t count_mask = 0xffff;
constexpr std::size_t word_bytes = 8;

std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

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

/// One tensor with its place among the bytes. Dense: every element of its extent belongs to it, once.
struct placed {
  at::Tensor tensor;
  std::string name;
  std::size_t offset = 0;
};

struct layout {
  std::vector<placed> tensors;
  std::size_t bytes = 0;
};

layout lay_out(const payload& value) {
  const auto* set = dynamic_cast<const tensor_set*>(&value);
  TROUPE_CHECK(set != nullptr, "edges between stages carry tensors");
  TROUPE_CHECK(set->tensors().size() <= limits::wire_tensors_max, "outputs are checked against the limits");
  layout made{{}, word_bytes};
  for (std::size_t index = 0; index < set->tensors().size(); ++index) {
    const at::Tensor& each = set->tensors()[index];
    placed next{each.is_non_overlapping_and_dense() ? each : each.contiguous(), set->stored_name(index), 0};
    TROUPE_CHECK(each.device().is_cpu() && has_whole_bytes(each.scalar_type()), "outputs are checked before");
    TROUPE_CHECK(static_cast<std::size_t>(each.dim()) <= limits::wire_dimensions_max, "outputs are checked before");
    TROUPE_CHECK(next.name.size() <= limits::wire_tensor_name_bytes_max, "names are checked before");
    made.bytes +=
        2 * word_bytes + round_up(next.name.size(), word_bytes) + 2 * word_bytes * static_cast<std::size_t>(each.dim());
    made.tensors.push_back(std::move(next));
  }
  for (placed& each : made.tensors) {
    each.offset = round_up(made.bytes, limits::payload_alignment);
    made.bytes = each.offset + each.tensor.nbytes();
  }
  return made;
}

class word_writer {
 public:
  explicit word_writer(std::span<std::byte> into) : into_(into) {}
  void word(std::uint64_t value) {
    std::memcpy(into_.data() + at_, &value, word_bytes);
    at_ += word_bytes;
  }
  void text(const std::string& value) {
    std::memset(into_.data() + at_, 0, round_up(value.size(), word_bytes));
    std::memcpy(into_.data() + at_, value.data(), value.size());
    at_ += round_up(value.size(), word_bytes);
  }

 private:
  std::span<std::byte> into_;
  std::size_t at_ = 0;
};

/// Bounded by what is there; the first thing that is missing ends it.
class word_reader {
 public:
  explicit word_reader(std::span<const std::byte> from) : from_(from) {}
  [[nodiscard]] std::size_t at() const noexcept { return at_; }
  [[nodiscard]] std::optional<std::uint64_t> word() {
    if (from_.size() - at_ < word_bytes) return std::nullopt;
    std::uint64_t value = 0;
    std::memcpy(&value, from_.data() + at_, word_bytes);
    at_ += word_bytes;
    return value;
  }
  [[nodiscard]] std::optional<std::string> text(std::size_t bytes) {
    const std::size_t padded = round_up(bytes, word_bytes);
    if (from_.size() - at_ < padded) return std::nullopt;
    std::string value(bytes, '\0');
    std::memcpy(value.data(), from_.data() + at_, bytes);
    at_ += padded;
    return value;
  }

 private:
  std::span<const std::byte> from_;
  std::size_t at_ = 0;
};

struct described {
  at::ScalarType type = at::kFloat;
  std::string name;
  std::size_t offset = 0;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
};

std::optional<described> read_description(word_reader& in) {
  const auto first = in.word();
  if (!first) return std::nullopt;
  described made;
  made.type = static_cast<at::ScalarType>(*first & 0xff);
  const std::size_t dimensions = *first >> 8 & 0xff;
  const std::size_t name_bytes = *first >> 16;
  if (!has_whole_bytes(made.type) || dimensions > limits::wire_dimensions_max ||
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
  return made;
}

/// Bytes of a dense tensor; nothing if it is none, or would be larger than `most`.
std::optional<std::size_t> bytes_of(const described& what, std::size_t most) {
  const std::size_t item = c10::elementSize(what.type);
  std::vector<std::pair<std::int64_t, std::int64_t>> by_stride;
  for (std::size_t dimension = 0; dimension < what.sizes.size(); ++dimension) {
    if (what.sizes[dimension] < 0 || what.strides[dimension] < 0) return std::nullopt;
    by_stride.emplace_back(what.strides[dimension], what.sizes[dimension]);
  }
  std::ranges::sort(by_stride);
  // Of an empty tensor the strides say nothing, and its other sizes are bounded all the same.
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

tl::unexpected<error> malformed(std::size_t at, std::string cause) {
  return fail(error_code::wire_malformed, "tensors, byte " + std::to_string(at), std::move(cause),
              "check that both ends run the same version of Troupe");
}

}  // namespace

std::size_t tensor_codec::size_of(const payload& value) const {
  return lay_out(value).bytes;
}

void tensor_codec::write(const payload& value, std::span<std::byte> into) const {
  const layout made = lay_out(value);
  TROUPE_CHECK(into.size() == made.bytes, "the caller asked size_of()");
  word_writer out(into);
  out.word(magic | made.tensors.size());
  for (const placed& each : made.tensors) {
    const auto dimensions = static_cast<std::uint64_t>(each.tensor.dim());
    out.word(static_cast<std::uint64_t>(each.tensor.scalar_type()) | dimensions << 8 |
             static_cast<std::uint64_t>(each.name.size()) << 16);
    out.text(each.name);
    out.word(each.offset);
    for (std::int64_t dimension = 0; dimension < each.tensor.dim(); ++dimension) {
      out.word(static_cast<std::uint64_t>(each.tensor.size(dimension)));
      out.word(static_cast<std::uint64_t>(each.tensor.stride(dimension)));
    }
  }
  for (const placed& each : made.tensors) {
    if (each.tensor.nbytes() > 0) {
      std::memcpy(into.data() + each.offset, each.tensor.const_data_ptr(), each.tensor.nbytes());
    }
  }
}

expected<payload_ptr> tensor_codec::read(std::span<const std::byte> from, std::shared_ptr<const void> owner) const {
  word_reader in(from);
  const auto first = in.word();
  if (!first || (*first & ~count_mask) != magic) return malformed(0, "they do not begin as tensors do");
  const std::size_t count = *first & count_mask;
  if (count > limits::wire_tensors_max) return malformed(0, std::to_string(count) + " tensors");
  std::vector<at::Tensor> tensors;
  std::vector<std::string> names;
  for (std::size_t index = 0; index < count; ++index) {
    const std::size_t at = in.at();
    auto what = read_description(in);
    if (!what) return malformed(at, "a tensor's description is cut short or beyond the limits");
    const bool inside = what->offset <= from.size() && what->offset % limits::payload_alignment == 0;
    const auto bytes = inside ? bytes_of(*what, from.size() - what->offset) : std::nullopt;
    if (!bytes || *bytes > from.size() - what->offset) {
      return malformed(at, "a tensor that is not dense, or lies outside the bytes that are there");
    }
    // Inputs are never written (stage_body), whatever at::Tensor would allow.
    auto* data = const_cast<std::byte*>(from.data() + what->offset);  // NOLINT
    tensors.push_back(at::from_blob(
        data, what->sizes, what->strides, [owner](void*) {}, at::TensorOptions().dtype(what->type)));
    names.push_back(std::move(what->name));
  }
  if (std::ranges::all_of(names, &std::string::empty)) names.clear();
  return std::make_shared<const tensor_set>(std::move(tensors), std::move(names));
}

}  // namespace troupe
