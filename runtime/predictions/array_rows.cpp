#include "runtime/predictions/array_rows.hpp"

#include <array>
#include <cstring>

#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe {
namespace {

struct array_type {
  at::ScalarType type;
  std::string_view descr;
  std::size_t bytes;
};
constexpr std::array array_types = {
    array_type{at::kFloat, "<f4", 4}, array_type{at::kDouble, "<f8", 8}, array_type{at::kHalf, "<f2", 2},
    array_type{at::kLong, "<i8", 8},  array_type{at::kInt, "<i4", 4},    array_type{at::kShort, "<i2", 2},
    array_type{at::kChar, "|i1", 1},  array_type{at::kByte, "|u1", 1},   array_type{at::kBool, "|b1", 1},
};
constexpr std::size_t descr_bytes = 3;

void append(std::vector<std::byte>& rows, std::span<const std::byte> bytes) {
  rows.insert(rows.end(), bytes.begin(), bytes.end());
}

void append_number(std::vector<std::byte>& rows, std::int64_t number) {
  append(rows, std::as_bytes(std::span(&number, 1)));
}

std::optional<std::int64_t> take_number(std::span<const std::byte>& rest) {
  std::int64_t number = 0;
  if (rest.size() < sizeof(number)) return std::nullopt;
  std::memcpy(&number, rest.data(), sizeof(number));
  rest = rest.subspan(sizeof(number));
  return number;
}

const array_type* type_named(std::string_view descr) {
  const auto* found = std::ranges::find(array_types, descr, &array_type::descr);
  return found == array_types.end() ? nullptr : found;
}

}  // namespace

void append_array(std::vector<std::byte>& rows, const at::Tensor& tensor) {
  const auto* found = std::ranges::find(array_types, tensor.scalar_type(), &array_type::type);
  if (found == array_types.end()) return append_array(rows, tensor.to(at::kFloat));
  append(rows, std::as_bytes(std::span(found->descr)));
  append_number(rows, tensor.dim());
  for (const std::int64_t size : tensor.sizes()) append_number(rows, size);
  append(rows, std::span(static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()));
}

std::optional<array_part> read_array(std::span<const std::byte> rows) {
  if (rows.size() < descr_bytes) return std::nullopt;
  array_part part;
  part.descr.assign(reinterpret_cast<const char*>(rows.data()), descr_bytes);
  const array_type* type = type_named(part.descr);
  rows = rows.subspan(descr_bytes);
  const auto dimensions = take_number(rows);
  if (type == nullptr || !dimensions || *dimensions < 1 ||
      *dimensions > static_cast<std::int64_t>(limits::wire_dimensions_max)) {
    return std::nullopt;
  }
  std::size_t bytes = type->bytes;
  for (std::int64_t i = 0; i < *dimensions; ++i) {
    const auto size = take_number(rows);
    if (!size || *size < 0 || __builtin_mul_overflow(bytes, static_cast<std::size_t>(*size), &bytes))
      return std::nullopt;
    part.shape.push_back(*size);
  }
  if (bytes != rows.size()) return std::nullopt;
  part.content = rows;
  return part;
}

std::string npy_header_text(std::string_view descr, const std::vector<std::int64_t>& shape) {
  constexpr std::size_t before_dictionary = 10;
  std::string dictionary = "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t size : shape) dictionary += std::to_string(size) + ", ";
  dictionary.resize(dictionary.size() - (shape.size() > 1 ? 2 : 1));  // of one dimension "(3,)"
  dictionary += "), }";
  TROUPE_CHECK(dictionary.size() < npy_header_bytes - before_dictionary, "so many dimensions are refused before");
  dictionary.resize(npy_header_bytes - before_dictionary - 1, ' ');
  const auto length = static_cast<std::uint16_t>(npy_header_bytes - before_dictionary);
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(length & 0xFF);
  header += static_cast<char>(length >> 8);
  return header + dictionary + '\n';
}

}  // namespace troupe
