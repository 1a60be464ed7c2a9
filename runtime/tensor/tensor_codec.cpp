#include "runtime/tensor/tensor_codec.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/ops/from_blob.h>
#include <c10/util/strides.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/tensor/tensor_set.hpp"

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

/// Bytes of this process that say all there is to know of it.
bool can_travel(const at::Tensor& tensor) {
  return tensor.layout() == at::kStrided && !tensor.is_nested() && tensor.device().is_cpu() &&
         has_whole_bytes(tensor.scalar_type()) && static_cast<std::size_t>(tensor.dim()) <= limits::wire_dimensions_max;
}

/// Its memory holds its values: not a conjugated, negated or all-zero view, whose values are made when they are read.
bool is_plain(const at::Tensor& tensor) {
  return tensor.is_non_overlapping_and_dense() && !tensor.is_conj() && !tensor.is_neg() && !tensor._is_zerotensor();
}

/// Those of a dense tensor stay.
at::DimVector strides_of(const at::Tensor& tensor) {
  if (tensor.is_non_overlapping_and_dense()) return at::DimVector(tensor.strides());
  return c10::contiguous_strides(tensor.sizes());
}

[[noreturn]] void refuse(const std::string& why) {
  throw std::runtime_error("they cannot leave their process: " + why);
}

[[noreturn]] void refuse(const at::Tensor& tensor, const std::string& name) {
  refuse((name.empty() ? "a tensor" : "\"" + name + "\"") + " is " + tensor.toString() + " with " +
         std::to_string(tensor.dim()) + " dimensions, and dense tensors in memory of the CPU with up to " +
         std::to_string(limits::wire_dimensions_max) +
         " dimensions are possible, none quantized, nested or ComplexHalf");
}

const tensor_set& tensors_of(const payload& value) {
  const auto* set = dynamic_cast<const tensor_set*>(&value);
  TROUPE_CHECK(set != nullptr, "edges between stages carry tensors");
  if (set->tensors().size() > limits::wire_tensors_max) {
    refuse(std::to_string(set->tensors().size()) + " tensors, at most " + std::to_string(limits::wire_tensors_max) +
           " are possible");
  }
  return *set;
}

std::size_t description_bytes(const tensor_set& set) {
  std::size_t bytes = word_bytes;
  for (std::size_t index = 0; index < set.tensors().size(); ++index) {
    const at::Tensor& each = set.tensors()[index];
    const std::size_t name_bytes = set.stored_name(index).size();
    if (!can_travel(each)) refuse(each, set.name(index));
    if (name_bytes > limits::wire_tensor_name_bytes_max) {
      refuse("\"" + set.name(index) + "\" is a name of more than " +
             std::to_string(limits::wire_tensor_name_bytes_max) + " bytes");
    }
    bytes += 2 * word_bytes + round_up(name_bytes, word_bytes) + 2 * word_bytes * static_cast<std::size_t>(each.dim());
  }
  return bytes;
}

/// Calls `visit` with each tensor's index and the offset of its data, which follows `end` bytes, the descriptions; what
/// it returns is the size of all.
template <class Visit>
std::size_t place(const tensor_set& set, std::size_t end, const Visit& visit) {
  for (std::size_t index = 0; index < set.tensors().size(); ++index) {
    const std::size_t offset = round_up(end, limits::payload_alignment);
    visit(index, offset);
    end = offset + set.tensors()[index].nbytes();
  }
  return end;
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

void describe(const at::Tensor& tensor, const std::string& name, std::size_t offset, word_writer& out) {
  const auto dimensions = static_cast<std::uint64_t>(tensor.dim());
  out.word(static_cast<std::uint64_t>(tensor.scalar_type()) | dimensions << 8 |
           static_cast<std::uint64_t>(name.size()) << 16);
  out.text(name);
  out.word(offset);
  const at::DimVector strides = strides_of(tensor);
  for (std::size_t dimension = 0; dimension < strides.size(); ++dimension) {
    out.word(static_cast<std::uint64_t>(tensor.sizes()[dimension]));
    out.word(static_cast<std::uint64_t>(strides[dimension]));
  }
}

/// The only copy, also of a tensor that is laid out anew.
void copy_values(const at::Tensor& tensor, std::span<std::byte> into) {
  if (into.empty()) return;
  if (is_plain(tensor)) {
    std::memcpy(into.data(), tensor.const_data_ptr(), into.size());
  } else {
    const auto options = at::TensorOptions().dtype(tensor.scalar_type());
    at::from_blob(into.data(), tensor.sizes(), strides_of(tensor), options).copy_(tensor);
  }
}

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
  at::DimVector sizes;
  at::DimVector strides;
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
  c10::SmallVector<std::pair<std::int64_t, std::int64_t>, 8> by_stride;
  for (std::size_t dimension = 0; dimension < what.sizes.size(); ++dimension) {
    if (what.sizes[dimension] < 0 || what.strides[dimension] < 0) return std::nullopt;
    by_stride.emplace_back(what.strides[dimension], what.sizes[dimension]);
  }
  std::sort(by_stride.begin(), by_stride.end());
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

at::Tensor view(const described& what, std::span<const std::byte> from, const std::shared_ptr<const void>& owner) {
  using handle = std::shared_ptr<const void>;
  // Inputs are never written (stage_body), whatever at::Tensor would allow.
  auto* data = const_cast<std::byte*>(from.data() + what.offset);  // NOLINT
  return at::for_blob(data, what.sizes)
      .strides(what.strides)
      .context(new handle(owner), [](void* kept) { delete static_cast<handle*>(kept); })  // NOLINT: a void* by contract
      .options(at::TensorOptions().dtype(what.type))
      .make_tensor();
}

tl::unexpected<error> malformed(std::size_t at, std::string cause) {
  return fail(error_code::wire_malformed, "tensors, byte " + std::to_string(at), std::move(cause),
              "check that both ends run the same version of Troupe");
}

}  // namespace

std::size_t tensor_codec::size_of(const payload& value) const {
  const tensor_set& set = tensors_of(value);
  return place(set, description_bytes(set), [](std::size_t, std::size_t) {});
}

void tensor_codec::write(const payload& value, std::span<std::byte> into) const {
  const tensor_set& set = tensors_of(value);
  TROUPE_CHECK(into.size() == size_of(value), "the caller asked size_of()");
  word_writer out(into);
  out.word(magic | set.tensors().size());
  place(set, description_bytes(set), [&](std::size_t index, std::size_t offset) {
    const at::Tensor& tensor = set.tensors()[index];
    describe(tensor, set.stored_name(index), offset, out);
    copy_values(tensor, into.subspan(offset, tensor.nbytes()));
  });
}

void tensor_codec::gather(const payload& value, gathered_bytes& into) const {
  const tensor_set& set = tensors_of(value);
  const std::uint64_t start = into.size();
  const std::size_t head_bytes = description_bytes(set);
  word_writer out(into.own(head_bytes));
  out.word(magic | set.tensors().size());
  place(set, head_bytes, [&](std::size_t index, std::size_t offset) {
    const at::Tensor& tensor = set.tensors()[index];
    describe(tensor, set.stored_name(index), offset, out);
    into.pad_to(limits::payload_alignment);
    TROUPE_CHECK(into.size() - start == offset, "the payload begins at a multiple of its alignment");
    if (is_plain(tensor)) {
      into.view({static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()});
    } else {
      copy_values(tensor, into.own(tensor.nbytes()));
    }
  });
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
    tensors.push_back(view(*what, from, owner));
    if (what->name.empty()) continue;
    names.resize(count);
    names[index] = std::move(what->name);
  }
  return std::make_shared<const tensor_set>(std::move(tensors), std::move(names));
}

}  // namespace troupe
