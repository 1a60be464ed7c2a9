#include "runtime/weights/safetensors_file.hpp"

#include <algorithm>
#include <vector>

#include <ATen/ops/empty.h>

#include "messages/try.hpp"
#include "runtime/weights/safetensors_header.hpp"
#include "runtime/weights/tensor_types.hpp"

namespace troupe {
namespace {

constexpr std::uint64_t length_bytes = 8;
/// The limit of the format.
constexpr std::uint64_t header_bytes_max = 100'000'000;

/// The bytes of a tensor; nothing where the number overflows.
std::optional<std::uint64_t> bytes_of(const safetensors_entry& entry, c10::ScalarType type) {
  std::uint64_t bytes = c10::elementSize(type);
  // A size of 0 does not excuse the others: they would overflow elsewhere.
  std::uint64_t others = bytes;
  for (const std::uint64_t size : entry.shape) {
    if (size > 0 && __builtin_mul_overflow(others, size, &others)) return std::nullopt;
    bytes *= size;
  }
  if (others > std::uint64_t{INT64_MAX}) return std::nullopt;
  return bytes;
}

expected<c10::ScalarType> checked_type(const weights_reading& reading, const safetensors_entry& entry) {
  const auto type = safetensors_type(entry.dtype);
  if (type) return *type;
  if (is_narrow_safetensors_type(entry.dtype)) {
    return reading.unsupported("the tensor " + entry.name + " is of type " + entry.dtype + ", of less than a byte",
                               "save its values as bfloat16 or float32");
  }
  return reading.damaged("the tensor " + entry.name + " is of type " + entry.dtype + ", which does not exist");
}

/// No overlap and no hole: each begins where the one before ends, and the last ends with the file.
expected<void> check_places(const weights_reading& reading, const std::vector<safetensors_entry>& entries,
                            std::uint64_t data_bytes) {
  std::vector<const safetensors_entry*> by_place;
  by_place.reserve(entries.size());
  for (const safetensors_entry& each : entries) by_place.push_back(&each);
  std::ranges::sort(by_place, {}, [](const auto* each) { return std::pair(each->begin, each->end); });
  std::uint64_t end = 0;
  for (const safetensors_entry* each : by_place) {
    if (each->end < each->begin) return reading.damaged("the tensor " + each->name + " ends before it begins");
    if (each->begin != end) {
      const std::string finding = each->begin < end ? " overlaps another one" : " has unused bytes before it";
      return reading.damaged("the tensor " + each->name + finding);
    }
    if (each->end > data_bytes) {
      return reading.truncated("the tensor " + each->name + " ends " + std::to_string(each->end - data_bytes) +
                               " bytes beyond its end");
    }
    end = each->end;
  }
  if (end == data_bytes) return {};
  return reading.damaged("it has " + std::to_string(data_bytes - end) + " bytes that belong to no tensor");
}

expected<at::Tensor> tensor_of(weights_reading& reading, const safetensors_entry& entry, std::uint64_t data) {
  const c10::ScalarType type = TROUPE_TRY(checked_type(reading, entry));
  const auto bytes = bytes_of(entry, type);
  if (!bytes || *bytes != entry.end - entry.begin || entry.shape.size() > weights_dimensions_max) {
    return reading.damaged("the tensor " + entry.name + " has not as many bytes as its type and shape say");
  }
  auto storage = TROUPE_TRY(reading.storage(data + entry.begin, *bytes, c10::elementSize(type), entry.name));
  const std::vector<std::int64_t> sizes(entry.shape.begin(), entry.shape.end());
  return at::empty({0}, type).set_(std::move(storage), 0, sizes);
}

}  // namespace

expected<state_dict> read_safetensors(weights_reading& reading) {
  const std::string_view bytes = reading.bytes();
  const std::uint64_t header = zip_number(bytes, 0, length_bytes);
  if (header > header_bytes_max) {
    return reading.beyond_limits("its header has " + std::to_string(header) + " bytes, and the limit is " +
                                 std::to_string(header_bytes_max));
  }
  if (header > bytes.size() - length_bytes) {
    return reading.truncated("its header has " + std::to_string(header) + " bytes, and the file " +
                             std::to_string(bytes.size()));
  }
  auto entries = parse_safetensors_header(bytes.substr(length_bytes, header), reading.memory_left());
  if (!entries) {
    const std::string cause = "its header " + entries.error().cause;
    return entries.error().is_too_large ? reading.beyond_limits(cause) : reading.damaged(cause);
  }
  const std::uint64_t data = length_bytes + header;
  TROUPE_TRY(check_places(reading, *entries, bytes.size() - data));
  state_dict dict;
  dict.reserve(entries->size());
  for (safetensors_entry& each : *entries) {
    at::Tensor tensor = TROUPE_TRY(tensor_of(reading, each, data));
    dict.push_back({std::move(each.name), std::move(tensor)});
  }
  return dict;
}

}  // namespace troupe
