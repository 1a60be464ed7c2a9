#include "runtime/data/npy_array.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/data/new_tensor.hpp"
#include "runtime/data/npy_header.hpp"

namespace troupe {

namespace {

struct type_entry {
  /// Kind and bytes, as behind the byte order in numpy's name: "f4".
  std::string_view name;
  npy_type type;
  std::uint64_t bytes;
  at::ScalarType dtype;
};

constexpr std::array<type_entry, 12> types = {{
    {"b1", npy_type::b1, 1, at::kBool},
    {"u1", npy_type::u1, 1, at::kByte},
    {"u2", npy_type::u2, 2, at::kUInt16},
    {"u4", npy_type::u4, 4, at::kUInt32},
    {"u8", npy_type::u8, 8, at::kUInt64},
    {"i1", npy_type::i1, 1, at::kChar},
    {"i2", npy_type::i2, 2, at::kShort},
    {"i4", npy_type::i4, 4, at::kInt},
    {"i8", npy_type::i8, 8, at::kLong},
    {"f2", npy_type::f2, 2, at::kHalf},
    {"f4", npy_type::f4, 4, at::kFloat},
    {"f8", npy_type::f8, 8, at::kDouble},
}};

/// As numpy: without a byte order, and with '=' or '|', it is this machine's.
const type_entry* find_type(std::string_view descr) {
  if (!descr.empty() && std::string_view("<>=|").find(descr.front()) != std::string_view::npos) descr.remove_prefix(1);
  const auto* found = std::ranges::find(types, descr, &type_entry::name);
  return found == types.end() ? nullptr : found;
}

bool is_swapped(std::string_view descr) {
  static_assert(std::endian::native == std::endian::little);
  return descr.starts_with('>');
}

template <class T>
void swap_elements(std::span<std::uint8_t> bytes, T (*swap)(T)) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    value = swap(value);
    std::memcpy(bytes.data() + at, &value, sizeof(T));
  }
}

/// From big-endian to little-endian.
void swap_bytes(std::span<std::uint8_t> bytes, std::uint64_t element_bytes) {
  if (element_bytes == 2) swap_elements<std::uint16_t>(bytes, [](std::uint16_t v) { return __builtin_bswap16(v); });
  if (element_bytes == 4) swap_elements<std::uint32_t>(bytes, [](std::uint32_t v) { return __builtin_bswap32(v); });
  if (element_bytes == 8) swap_elements<std::uint64_t>(bytes, [](std::uint64_t v) { return __builtin_bswap64(v); });
}

tl::unexpected<error> wrong_type(const std::string& path, const std::string& descr) {
  if (descr.ends_with('O')) {
    return fail(error_code::data_bad_format, path, "an array of Python objects (element type '" + descr + "')",
                "make it an array of numbers, of equally long rows, and save that");
  }
  return fail(
      error_code::data_bad_format, path,
      "element type '" + descr + "', expected f2, f4, f8, i1, i2, i4, i8, u1, u2, u4, u8 or b1 in either byte order",
      "save it again with numpy.save(path, array.astype('<f4'))");
}

/// Nothing if it does not fit: a header can say anything.
std::optional<std::uint64_t> product(std::uint64_t factor, const std::vector<std::int64_t>& sizes) {
  for (const std::int64_t size : sizes) {
    if (__builtin_mul_overflow(factor, static_cast<std::uint64_t>(size), &factor)) return std::nullopt;
  }
  return factor < std::uint64_t{1} << 62 ? std::optional(factor) : std::nullopt;
}

expected<void> check_length(const std::string& path, const npy_header& header, std::uint64_t element_bytes,
                            std::uint64_t found) {
  const std::uint64_t payload = product(element_bytes, header.shape).value_or(std::uint64_t{1} << 62);
  const std::uint64_t wanted = header.data_offset + payload;
  if (found == wanted) return {};
  const bool is_short = found < wanted;
  return fail(is_short ? error_code::data_truncated : error_code::data_bad_format,
              path + ", byte " + std::to_string(is_short ? found : wanted),
              std::string(is_short ? "the file ends early" : "data follow the last element") + ": expected " +
                  std::to_string(wanted) + " bytes as its header says, found " + std::to_string(found),
              "save the array again with numpy.save");
}

expected<void> check_shape(const std::string& path, const std::vector<std::int64_t>& shape) {
  if (shape.empty()) {
    return fail(error_code::data_bad_format, path, "a single number, expected an array with one row per sample",
                "save an array whose first axis is the samples");
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] != 0) continue;
    return fail(error_code::data_empty, path, "axis " + std::to_string(axis) + " has size 0, expected at least 1",
                "save an array with at least one sample");
  }
  return {};
}

expected<npy_header> read_header(const std::string& path, const byte_region& region) {
  constexpr std::uint64_t preamble_bytes_max = 12;
  std::vector<std::uint8_t> begin(std::min(region.size(), preamble_bytes_max + limits::npy_header_bytes_max));
  TROUPE_TRY(region.read(0, begin));
  return parse_npy_header(path, begin);
}

template <class T>
void widen(const std::uint8_t* in, std::int64_t* out, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, in + i * sizeof(T), sizeof(T));
    out[i] = static_cast<std::int64_t>(value);  // NOLINT(bugprone-signed-char-misuse): int8 is a number here
  }
}

}  // namespace

expected<npy_array> npy_array::open(const std::string& path) {
  return open(path, TROUPE_TRY(open_bytes(path)));
}

expected<npy_array> npy_array::open(const std::string& path, byte_region_ptr region) {
  npy_array array;
  array.path_ = path;
  array.region_ = std::move(region);
  npy_header header = TROUPE_TRY(read_header(path, *array.region_));
  const type_entry* type = find_type(header.descr);
  if (type == nullptr) return wrong_type(path, header.descr);
  if (expected<void> fine = check_shape(path, header.shape); !fine) return tl::make_unexpected(fine.error());
  if (expected<void> fine = check_length(path, header, type->bytes, array.region_->size()); !fine) {
    return tl::make_unexpected(fine.error());
  }
  array.type_ = type->type;
  array.is_swapped_ = is_swapped(header.descr);
  array.is_fortran_ = header.fortran_order;
  array.descr_ = header.descr;
  array.shape_ = header.shape;
  array.data_offset_ = header.data_offset;
  array.element_bytes_ = type->bytes;
  array.row_elements_ = elements_of(array.row_shape());
  return array;
}

at::ScalarType npy_array::dtype() const noexcept {
  return types[static_cast<std::size_t>(type_)].dtype;
}

expected<void> npy_array::read(sample_range rows, std::span<std::uint8_t> into) const {
  byte_pieces pieces{.offset = data_offset_ + rows.begin * row_elements_ * element_bytes_, .width = into.size()};
  if (is_fortran_) {
    // A column holds one element of each row.
    pieces = {.offset = data_offset_ + rows.begin * element_bytes_,
              .count = row_elements_,
              .width = rows.size() * element_bytes_,
              .stride = this->rows() * element_bytes_};
  }
  expected<void> got = region_->read(pieces, into);
  if (got && is_swapped_) swap_bytes(into, element_bytes_);
  return got;
}

expected<at::Tensor> npy_array::new_rows(sample_range rows, at::ScalarType dtype) const {
  std::vector<std::int64_t> sizes = with_rows(rows.size(), row_shape());
  if (is_fortran_) std::ranges::reverse(sizes);
  return new_tensor(sizes, dtype, path_);
}

expected<at::Tensor> npy_array::in_order(at::Tensor stored) const {
  if (!is_fortran_) return stored;
  std::vector<std::int64_t> axes(shape_.size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  try {
    return stored.permute(axes).contiguous();
  } catch (const std::exception&) {
    return fail(error_code::source_failed, path_,
                "no memory to reorder " + std::to_string(stored.numel()) + " elements in Fortran order",
                "use a smaller micro-batch");
  }
}

expected<at::Tensor> npy_array::read_rows(sample_range rows) const {
  expected<at::Tensor> result = new_rows(rows, dtype());
  if (!result) return result;
  if (auto got = read(rows, {static_cast<std::uint8_t*>(result->mutable_data_ptr()), result->nbytes()}); !got) {
    return tl::make_unexpected(got.error());
  }
  return in_order(std::move(*result));
}

expected<at::Tensor> npy_array::as_int64(sample_range rows) const {
  TROUPE_CHECK(!is_floating(), "only integers become class labels");
  expected<at::Tensor> result = new_rows(rows, at::kLong);
  if (!result) return result;
  auto* out = result->mutable_data_ptr<std::int64_t>();
  const std::uint64_t count = rows.size() * row_elements_;
  expected<at::Tensor> stored = new_tensor({static_cast<std::int64_t>(count * element_bytes_)}, at::kByte, path_);
  if (!stored) return stored;
  const auto* in = stored->const_data_ptr<std::uint8_t>();
  if (auto got = read(rows, {stored->mutable_data_ptr<std::uint8_t>(), stored->nbytes()}); !got) {
    return tl::make_unexpected(got.error());
  }
  switch (type_) {
    case npy_type::b1:
    case npy_type::u1:
      widen<std::uint8_t>(in, out, count);
      break;
    case npy_type::u2:
      widen<std::uint16_t>(in, out, count);
      break;
    case npy_type::u4:
      widen<std::uint32_t>(in, out, count);
      break;
    case npy_type::u8:
      widen<std::uint64_t>(in, out, count);
      break;
    case npy_type::i1:
      widen<std::int8_t>(in, out, count);
      break;
    case npy_type::i2:
      widen<std::int16_t>(in, out, count);
      break;
    case npy_type::i4:
      widen<std::int32_t>(in, out, count);
      break;
    case npy_type::i8:
      widen<std::int64_t>(in, out, count);
      break;
    case npy_type::f2:
    case npy_type::f4:
    case npy_type::f8:
      break;
  }
  return in_order(std::move(*result));
}

}  // namespace troupe
