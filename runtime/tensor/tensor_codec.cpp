#include "runtime/tensor/tensor_codec.hpp"

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/ops/from_blob.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "runtime/tensor/tensor_description.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw std::runtime_error("they cannot leave their process: " + why);
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
    if (const std::string why = why_no_bytes(each); !why.empty()) {
      refuse((set.name(index).empty() ? "a tensor" : "\"" + set.name(index) + "\"") + " " + why);
    }
    if (name_bytes > limits::wire_tensor_name_bytes_max) {
      refuse("\"" + set.name(index) + "\" is a name of more than " +
             std::to_string(limits::wire_tensor_name_bytes_max) + " bytes");
    }
    bytes += described_bytes(each, set.stored_name(index));
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
    end = offset + sent_bytes(set.tensors()[index]);
  }
  return end;
}

/// The only copy, also of a tensor that is laid out anew.
void copy_values(const at::Tensor& tensor, std::span<std::byte> into) {
  if (into.empty()) return;
  if (is_sent_as_it_lies(tensor)) {
    std::memcpy(into.data(), tensor.const_data_ptr(), into.size());
  } else {
    const at::Tensor values = tensor.is_quantized() ? integers_of(tensor) : tensor;
    const auto options = at::TensorOptions().dtype(values.scalar_type());
    at::from_blob(into.data(), values.sizes(), strides_of(values), options).copy_(values);
  }
}

at::Tensor view(const described_tensor& what, std::span<const std::byte> from,
                const std::shared_ptr<const void>& owner) {
  using handle = std::shared_ptr<const void>;
  // Inputs are never written (stage_body), whatever at::Tensor would allow.
  auto* data = const_cast<std::byte*>(from.data() + what.offset);  // NOLINT
  const at::Tensor made =
      at::for_blob(data, what.sizes)
          .strides(what.strides)
          .context(new handle(owner), [](void* kept) { delete static_cast<handle*>(kept); })  // NOLINT: by contract
          .options(at::TensorOptions().dtype(c10::toUnderlying(what.type)))
          .make_tensor();
  return what.scale ? with_scale(made, what.type, *what.scale) : made;
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
  out.word(tensors_magic | set.tensors().size());
  place(set, description_bytes(set), [&](std::size_t index, std::size_t offset) {
    const at::Tensor& tensor = set.tensors()[index];
    describe(tensor, set.stored_name(index), offset, out);
    copy_values(tensor, into.subspan(offset, sent_bytes(tensor)));
  });
}

void tensor_codec::gather(const payload& value, gathered_bytes& into) const {
  const tensor_set& set = tensors_of(value);
  const std::uint64_t start = into.size();
  const std::size_t head_bytes = description_bytes(set);
  word_writer out(into.own(head_bytes));
  out.word(tensors_magic | set.tensors().size());
  place(set, head_bytes, [&](std::size_t index, std::size_t offset) {
    const at::Tensor& tensor = set.tensors()[index];
    describe(tensor, set.stored_name(index), offset, out);
    into.pad_to(limits::payload_alignment);
    TROUPE_CHECK(into.size() - start == offset, "the payload begins at a multiple of its alignment");
    if (is_sent_as_it_lies(tensor)) {
      into.view({static_cast<const std::byte*>(tensor.const_data_ptr()), sent_bytes(tensor)});
    } else {
      copy_values(tensor, into.own(tensor.nbytes()));
    }
  });
}

expected<payload_ptr> tensor_codec::read(std::span<const std::byte> from, std::shared_ptr<const void> owner) const {
  word_reader in(from);
  const auto first = in.word();
  if (!first || (*first & ~tensors_count_mask) != tensors_magic) return malformed(0, "they do not begin as tensors do");
  const std::size_t count = *first & tensors_count_mask;
  if (count > limits::wire_tensors_max) return malformed(0, std::to_string(count) + " tensors");
  std::vector<at::Tensor> tensors;
  std::vector<std::string> names;
  for (std::size_t index = 0; index < count; ++index) {
    const std::size_t at = in.at();
    auto what = read_description(in);
    if (!what) return malformed(at, "a tensor's description is cut short or beyond the limits");
    const bool inside = what->offset <= from.size() && what->offset % limits::payload_alignment == 0;
    const auto bytes = inside ? spanned_bytes(*what, from.size() - what->offset) : std::nullopt;
    if (!bytes || *bytes > from.size() - what->offset) {
      return malformed(at, "a tensor that lies outside the bytes that are there");
    }
    tensors.push_back(view(*what, from, owner));
    if (what->name.empty()) continue;
    names.resize(count);
    names[index] = std::move(what->name);
  }
  return std::make_shared<const tensor_set>(std::move(tensors), std::move(names));
}

}  // namespace troupe
