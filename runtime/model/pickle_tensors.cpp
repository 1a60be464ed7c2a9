#include "runtime/model/pickle_tensors.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "runtime/archive/tensor_extent.hpp"

namespace troupe {
namespace {

using kind = pickled_value::kind;

struct element_type {
  std::string_view storage;
  std::uint64_t bytes;
};
/// The names that LibTorch knows, and what an element takes.
constexpr std::array element_types{
    element_type{"torch ByteStorage", 1},          element_type{"torch CharStorage", 1},
    element_type{"torch BoolStorage", 1},          element_type{"torch QInt8Storage", 1},
    element_type{"torch QUInt8Storage", 1},        element_type{"torch Float8_e5m2Storage", 1},
    element_type{"torch Float8_e4m3fnStorage", 1}, element_type{"torch ShortStorage", 2},
    element_type{"torch HalfStorage", 2},          element_type{"torch BFloat16Storage", 2},
    element_type{"torch IntStorage", 4},           element_type{"torch FloatStorage", 4},
    element_type{"torch QInt32Storage", 4},        element_type{"torch ComplexHalfStorage", 4},
    element_type{"torch LongStorage", 8},          element_type{"torch DoubleStorage", 8},
    element_type{"torch ComplexFloatStorage", 8},  element_type{"torch ComplexDoubleStorage", 16}};

/// What LibTorch's own files call, but for the model's classes.
constexpr std::array<std::string_view, 9> known_functions{"torch.jit._pickle build_intlist",
                                                          "torch.jit._pickle build_tensorlist",
                                                          "torch.jit._pickle build_doublelist",
                                                          "torch.jit._pickle build_boollist",
                                                          "torch.jit._pickle restore_type_tag",
                                                          "torch.jit._pickle build_tensor_from_id",
                                                          "collections OrderedDict",
                                                          "builtins complex",
                                                          "torch device"};

std::optional<std::uint64_t> element_bytes(std::string_view storage) {
  const auto* found = std::ranges::find(element_types, storage, &element_type::storage);
  return found == element_types.end() ? std::nullopt : std::optional(found->bytes);
}

}  // namespace

std::size_t type_depth(std::string_view text) {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  std::size_t others = 0;
  for (const char c : text) {
    const bool is_letter = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (c == '[' || c == '(') ++depth;
    if ((c == ']' || c == ')') && depth > 0) --depth;
    others = c == ',' ? 0 : others + (is_letter ? 0 : 1);
    deepest = std::max(deepest, std::max(depth, others));
  }
  return deepest;
}

const std::vector<pickled_value>* pickled_tensors::members_of(const pickled_value& value) const {
  const auto found = value.what == kind::tuple ? tuples_.find(value.node) : tuples_.end();
  return found == tuples_.end() ? nullptr : &found->second;
}

bool pickled_tensors::take_storage(pickled_value& value) {
  const auto* members = members_of(value);
  if (members == nullptr || members->size() != 5) return false;
  const pickled_value& name = members->at(2);
  const pickled_value& elements = members->at(4);
  const auto bytes = members->at(1).what == kind::global ? element_bytes(members->at(1).text) : std::nullopt;
  std::uint64_t all = 0;
  if (!bytes || name.what != kind::text || elements.what != kind::number || elements.number < 0 ||
      __builtin_mul_overflow(static_cast<std::uint64_t>(elements.number), *bytes, &all)) {
    return false;
  }
  // LibTorch does not look for a record of nothing.
  if (all > 0) records_.push_back({std::string(name.text), all});
  value = {.node = 0, .what = kind::storage, .number = elements.number};
  return true;
}

bool pickled_tensors::take_call(const pickled_value& function, const pickled_value& arguments) {
  if (function.what != kind::global) return false;
  if (function.text == "torch._utils _rebuild_tensor_v2" || function.text == "torch._utils _rebuild_qtensor") {
    const auto* tensor = members_of(arguments);
    return tensor != nullptr && lies_within(*tensor);
  }
  if (function.text == "torch._utils _rebuild_sparse_tensor") {
    has_sparse_ = true;
    return true;
  }
  if (function.text == "torch.jit._pickle restore_type_tag") {
    const auto* members = members_of(arguments);
    if (members == nullptr || members->size() != 2 || members->at(1).what != kind::text) return false;
    deepest_type_ = std::max(deepest_type_, type_depth(members->at(1).text));
  }
  return !function.text.starts_with("torch") ||
         std::ranges::find(known_functions, function.text) != known_functions.end();
}

bool pickled_tensors::read_numbers(const pickled_value& value, std::vector<std::int64_t>& into) const {
  const auto* members = members_of(value);
  return members != nullptr && std::ranges::all_of(*members, [&into](const pickled_value& each) {
           into.push_back(each.number);
           return each.what == kind::number && each.number >= 0;
         });
}

/// Storage, offset, sizes, strides.
bool pickled_tensors::lies_within(const std::vector<pickled_value>& tensor) const {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;
  if (tensor.size() < 4 || tensor[0].what != kind::storage || tensor[1].what != kind::number || tensor[1].number < 0 ||
      !read_numbers(tensor[2], sizes) || !read_numbers(tensor[3], strides) || sizes.size() != strides.size()) {
    return false;
  }
  // One operator writes elements out that lie on top of each other, as those of expand() do.
  const auto held = static_cast<std::uint64_t>(tensor[0].number);
  std::uint64_t most = 0;
  if (__builtin_mul_overflow(std::max<std::uint64_t>(held, 1), pickled_repeats_max, &most)) return false;
  return check_extent(tensor[1].number, sizes, strides, held, most) == extent_fault::none;
}

}  // namespace troupe
