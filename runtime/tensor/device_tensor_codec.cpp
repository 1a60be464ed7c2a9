#include "runtime/tensor/device_tensor_codec.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/from_blob.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/tensor/tensor_description.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

[[noreturn]] void refuse_on_device(const std::string& why) {
  throw std::runtime_error("they cannot go from device to device: " + why);
}

std::string why_not(const at::Tensor& tensor, c10::Device device) {
  if (tensor.layout() != at::kStrided || tensor.is_nested()) return "it is sparse or nested";
  if (tensor.is_quantized()) return "it is quantized";
  if (!has_whole_bytes(tensor.scalar_type())) return "its elements have no whole bytes";
  if (static_cast<std::size_t>(tensor.dim()) > limits::wire_dimensions_max) return "it has too many dimensions";
  if (tensor.device() != device) return "it is on " + tensor.device().str() + ", not on " + device.str();
  if (!is_plain(tensor)) return "it is a view that is not dense";
  return {};
}

std::size_t bytes_to_describe(const tensor_set& set) {
  std::size_t bytes = word_bytes;
  for (std::size_t index = 0; index < set.tensors().size(); ++index)
    bytes += described_bytes(set.tensors()[index], set.stored_name(index));
  return bytes;
}

tl::unexpected<error> no_description(std::size_t at, std::string cause) {
  return fail(error_code::wire_malformed, "tensors of a device, byte " + std::to_string(at), std::move(cause),
              "check that both ends run the same version of Troupe");
}

struct described_part {
  described_tensor tensor;
  std::size_t bytes = 0;
};

/// Nothing is allocated but what the description's own bytes allow.
expected<std::vector<described_part>> read_all(std::span<const std::byte> from) {
  word_reader in(from);
  const auto first = in.word();
  if (!first || (*first & ~tensors_count_mask) != tensors_magic)
    return no_description(0, "they do not begin as tensors do");
  const std::size_t count = *first & tensors_count_mask;
  if (count > limits::wire_tensors_max) return no_description(0, std::to_string(count) + " tensors");
  std::vector<described_part> made;
  while (made.size() < count) {
    const std::size_t at = in.at();
    auto what = read_description(in);
    if (!what || what->offset != 0 || what->scale)
      return no_description(at, "a tensor's description is cut short or beyond the limits");
    const auto bytes = dense_bytes(*what, limits::nccl_message_bytes_max);
    if (!bytes) return no_description(at, "a tensor that is not dense, or too large");
    made.push_back({.tensor = std::move(*what), .bytes = *bytes});
  }
  if (in.at() != from.size()) return no_description(in.at(), "there is more than the tensors' description");
  return made;
}

at::Tensor view_on(c10::Device device, const described_tensor& what, std::byte* at,
                   const std::shared_ptr<const void>& owner) {
  using handle = std::shared_ptr<const void>;
  return at::for_blob(at, what.sizes)
      .strides(what.strides)
      .context(new handle(owner), [](void* kept) { delete static_cast<handle*>(kept); })  // NOLINT: a void* by contract
      .target_device(device)
      .options(at::TensorOptions().dtype(what.type).device(device))
      .make_tensor();
}

}  // namespace

void device_tensor_codec::check(const payload& value) const {
  const auto* set = dynamic_cast<const tensor_set*>(&value);
  TROUPE_CHECK(set != nullptr, "edges between stages carry tensors");
  if (set->tensors().size() > limits::wire_tensors_max)
    refuse_on_device(std::to_string(set->tensors().size()) + " tensors are too many");
  for (std::size_t index = 0; index < set->tensors().size(); ++index) {
    if (const std::string why = why_not(set->tensors()[index], device_); !why.empty())
      refuse_on_device("tensor " + std::to_string(index) + ": " + why);
    if (set->stored_name(index).size() > limits::wire_tensor_name_bytes_max)
      refuse_on_device("\"" + set->name(index) + "\" is too long a name");
  }
  if (bytes_to_describe(*set) > limits::nccl_description_bytes_max) refuse_on_device("their description is too long");
}

device_parts device_tensor_codec::split(const payload_ptr& value) const {
  const tensor_set& set = as_tensors(value);
  device_parts made{.description = std::vector<std::byte>(bytes_to_describe(set)),
                    .extents = {},
                    .places = {},
                    .owner = value,
                    .owners = {}};
  word_writer out(made.description);
  out.word(tensors_magic | set.tensors().size());
  for (std::size_t index = 0; index < set.tensors().size(); ++index) {
    const at::Tensor& tensor = set.tensors()[index];
    describe(tensor, set.stored_name(index), 0, out);
    if (tensor.nbytes() == 0) continue;
    made.extents.push_back({.count = tensor.nbytes(), .type = nccl::element::uint8});
    made.places.push_back(static_cast<const std::byte*>(tensor.const_data_ptr()));
    made.owners.push_back(std::make_shared<const at::Tensor>(tensor));
  }
  return made;
}

expected<void> device_tensor_codec::matches(std::span<const std::byte> description,
                                            std::span<const device_extent> extents) const {
  return read_all(description).and_then([&](const std::vector<described_part>& parts) -> expected<void> {
    std::vector<device_extent> needed;
    for (const described_part& each : parts)
      if (each.bytes != 0) needed.push_back({.count = each.bytes, .type = nccl::element::uint8});
    if (std::ranges::equal(needed, extents)) return {};
    return no_description(0, "the extents are not those of the description");
  });
}

expected<payload_ptr> device_tensor_codec::join(std::span<const std::byte> description,
                                                std::span<const device_extent> /*extents*/,
                                                std::span<std::byte* const> places,
                                                std::shared_ptr<const void> owner) const {
  return read_all(description).map([&](const std::vector<described_part>& parts) -> payload_ptr {
    std::vector<at::Tensor> tensors;
    std::vector<std::string> names;
    for (std::size_t index = 0, next = 0; index < parts.size(); ++index) {
      std::byte* const at = parts[index].bytes == 0 ? nullptr : places[next++];
      tensors.push_back(view_on(device_, parts[index].tensor, at, owner));
      if (parts[index].tensor.name.empty()) continue;
      names.resize(parts.size());
      names[index] = parts[index].tensor.name;
    }
    return std::make_shared<const tensor_set>(std::move(tensors), std::move(names));
  });
}

}  // namespace troupe
