#include "runtime/data/npy_array.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/data/new_tensor.hpp"
#include "runtime/data/npy_header.hpp"

namespace troupe {

namespace {

struct type_entry {
  const char* descr;
  npy_type type;
  std::uint64_t bytes;
  at::ScalarType dtype;
};

constexpr std::array<type_entry, 12> types = {{
    {"|b1", npy_type::b1, 1, at::kBool},
    {"|u1", npy_type::u1, 1, at::kByte},
    {"<u2", npy_type::u2, 2, at::ScalarType::Undefined},
    {"<u4", npy_type::u4, 4, at::ScalarType::Undefined},
    {"<u8", npy_type::u8, 8, at::ScalarType::Undefined},
    {"|i1", npy_type::i1, 1, at::kChar},
    {"<i2", npy_type::i2, 2, at::kShort},
    {"<i4", npy_type::i4, 4, at::kInt},
    {"<i8", npy_type::i8, 8, at::kLong},
    {"<f2", npy_type::f2, 2, at::kHalf},
    {"<f4", npy_type::f4, 4, at::kFloat},
    {"<f8", npy_type::f8, 8, at::kDouble},
}};

const type_entry* find_type(const std::string& descr) {
  for (const type_entry& entry : types) {
    // Byte order says nothing about single bytes.
    const bool same_byte = entry.bytes == 1 && descr.size() == 3 && descr.substr(1) == entry.descr + 1 &&
                           std::string_view("|<>=").find(descr[0]) != std::string_view::npos;
    if (same_byte || descr == entry.descr) return &entry;
  }
  return nullptr;
}

tl::unexpected<error> wrong_type(const std::string& path, const std::string& descr) {
  if (descr.starts_with('>')) {
    return fail(error_code::data_bad_format, path, "big-endian elements ('" + descr + "'), expected little-endian ones",
                "save it again with numpy.save(path, array.astype(array.dtype.newbyteorder('<')))");
  }
  return fail(error_code::data_bad_format, path,
              "element type '" + descr +
                  "', expected <f2, <f4, <f8, |i1, <i2, <i4, <i8, |u1 or |b1 (labels: <u2, <u4, <u8 too)",
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
  if (auto got = region.read(0, begin); !got) return tl::make_unexpected(got.error());
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
  npy_array array;
  array.path_ = path;
  expected<byte_region_ptr> region = open_bytes(path);
  if (!region) return tl::make_unexpected(region.error());
  array.region_ = std::move(*region);
  expected<npy_header> header = read_header(path, *array.region_);
  if (!header) return tl::make_unexpected(header.error());
  const type_entry* type = find_type(header->descr);
  if (type == nullptr) return wrong_type(path, header->descr);
  if (expected<void> fine = check_shape(path, header->shape); !fine) return tl::make_unexpected(fine.error());
  if (expected<void> fine = check_length(path, *header, type->bytes, array.region_->size()); !fine) {
    return tl::make_unexpected(fine.error());
  }
  array.type_ = type->type;
  array.descr_ = header->descr;
  array.shape_ = header->shape;
  array.data_offset_ = header->data_offset;
  array.element_bytes_ = type->bytes;
  array.row_elements_ = elements_of(array.row_shape());
  return array;
}

at::ScalarType npy_array::dtype() const noexcept {
  return types[static_cast<std::size_t>(type_)].dtype;
}

expected<void> npy_array::read(sample_range rows, void* into) const {
  const std::uint64_t row_bytes = row_elements_ * element_bytes_;
  return region_->read(data_offset_ + rows.begin * row_bytes,
                       {static_cast<std::uint8_t*>(into), static_cast<std::size_t>(rows.size() * row_bytes)});
}

expected<at::Tensor> npy_array::read_rows(sample_range rows) const {
  TROUPE_CHECK(dtype() != at::ScalarType::Undefined, "arrays of inputs have a tensor type");
  expected<at::Tensor> result = new_tensor(with_rows(rows.size(), row_shape()), dtype(), path_);
  if (!result) return result;
  if (auto got = read(rows, result->mutable_data_ptr()); !got) return tl::make_unexpected(got.error());
  return result;
}

expected<at::Tensor> npy_array::as_int64(sample_range rows) const {
  TROUPE_CHECK(!is_floating(), "only integers become class labels");
  expected<at::Tensor> result = new_tensor(with_rows(rows.size(), row_shape()), at::kLong, path_);
  if (!result) return result;
  auto* out = result->mutable_data_ptr<std::int64_t>();
  const std::uint64_t count = rows.size() * row_elements_;
  expected<at::Tensor> stored = new_tensor({static_cast<std::int64_t>(count * element_bytes_)}, at::kByte, path_);
  if (!stored) return stored;
  const auto* in = stored->mutable_data_ptr<std::uint8_t>();
  if (auto got = read(rows, stored->mutable_data_ptr()); !got) return tl::make_unexpected(got.error());
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
  return result;
}

}  // namespace troupe
