#include "runtime/weights/torch_pickle.hpp"

#include <bit>

#include <ATen/ops/empty.h>
#include <caffe2/serialize/inline_container.h>

#include "messages/try.hpp"
#include "runtime/weights/tensor_types.hpp"

namespace troupe {
namespace {

std::string little_bytes(std::uint64_t value, std::size_t width) {
  std::string bytes;
  for (std::size_t i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

}  // namespace

void torch_pickle::put_whole(std::int64_t value) {
  bytes_ += "\x8a\x08" + little_bytes(static_cast<std::uint64_t>(value), 8);
}

void torch_pickle::put_real(double value) {
  bytes_ += 'G' + little_bytes(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)), 8);
}

void torch_pickle::put_text(std::string_view value) {
  (bytes_ += 'X' + little_bytes(value.size(), 4)) += value;
}

void torch_pickle::put_global(std::string_view module, std::string_view name) {
  ((((bytes_ += 'c') += module) += '\n') += name) += '\n';
}

void torch_pickle::put_counts(at::IntArrayRef values) {
  bytes_ += '(';
  for (const std::int64_t each : values) put_whole(each);
  bytes_ += 't';
}

/// _rebuild_tensor_v2(storage, offset, sizes, strides, requires_grad, hooks), and v3 with the type behind them.
expected<void> torch_pickle::put_tensor(const weights_writing& to, const std::string& name, const at::Tensor& given) {
  const at::Tensor tensor = given.detach().resolve_conj().resolve_neg();
  const std::string_view storage_name = storage_class(tensor.scalar_type());
  const std::string_view type = python_name(tensor.scalar_type());
  if (type.empty()) return to.refused(name, "has a type that torch.save has not", "convert it before");
  put_global("torch._utils", storage_name.empty() ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
  bytes_ += '(';
  put_storage(tensor, storage_name);
  put_whole(tensor.storage_offset());
  put_counts(tensor.sizes());
  put_counts(tensor.strides());
  put_truth(false);
  put_global("collections", "OrderedDict");
  bytes_ += ")R";
  if (storage_name.empty()) put_global("torch", type);
  bytes_ += "tR";
  return {};
}

/// ("storage", class, key, device, elements).
void torch_pickle::put_storage(const at::Tensor& tensor, std::string_view class_name) {
  const c10::Storage& storage = tensor.storage();
  const std::size_t element = class_name.empty() ? 1 : tensor.element_size();
  const auto elements = static_cast<std::int64_t>(storage.nbytes() / element);
  const auto [known, is_new] =
      keys_.try_emplace({storage.unsafeGetStorageImpl(), tensor.scalar_type()}, storages_.size());
  if (is_new) {
    const auto bytes = elements * static_cast<std::int64_t>(element);
    storages_.push_back(at::empty({0}, tensor.options().dtype(at::kByte)).set_(storage, 0, {bytes}, {1}));
  }
  bytes_ += '(';
  put_text("storage");
  if (class_name.empty()) {
    put_global("torch.storage", "UntypedStorage");
  } else {
    put_global("torch", class_name);
  }
  put_text(std::to_string(known->second));
  put_text("cpu");
  put_whole(elements);
  bytes_ += "tQ";
}

expected<void> torch_pickle::write(weights_writing& to) const {
  expected<void> outcome;
  // Its destructor would throw after a write that failed, and end the process: it is never told.
  const auto write_bytes = [&](const void* bytes, std::size_t count) {
    if (outcome) outcome = to.write({static_cast<const char*>(bytes), count});
    return count;
  };
  caffe2::serialize::PyTorchStreamWriter zip(write_bytes);
  const std::string pickle = bytes_ + '.';
  const std::string_view order = "little";
  zip.writeRecord("data.pkl", pickle.data(), pickle.size());
  zip.writeRecord("byteorder", order.data(), order.size());
  for (std::size_t key = 0; key < storages_.size() && outcome; ++key) {
    const at::Tensor bytes = storages_[key].cpu();
    zip.writeRecord("data/" + std::to_string(key), bytes.const_data_ptr(), bytes.nbytes());
  }
  zip.writeEndOfFile();
  return outcome;
}

}  // namespace troupe
