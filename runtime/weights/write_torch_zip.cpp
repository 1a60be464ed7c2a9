#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>
#include <caffe2/serialize/inline_container.h>

#include "messages/try.hpp"
#include "runtime/weights/tensor_types.hpp"
#include "runtime/weights/writing.hpp"

namespace troupe {
namespace {

std::string little_bytes(std::uint64_t value, std::size_t width) {
  std::string bytes;
  for (std::size_t i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

/// The pickle of a dict of tensors, in protocol 2, and the storages that it names.
class dict_pickle {
 public:
  explicit dict_pickle(const weights_writing& to) : to_(to) {}

  expected<void> add(const named_tensor& each) {
    at::Tensor tensor = each.tensor.detach();
    if (tensor.is_conj() || tensor.is_neg()) tensor = tensor.resolve_conj().resolve_neg();
    const c10::ScalarType type = tensor.scalar_type();
    const std::string_view storage_name = storage_class(type);
    const std::string_view python = python_name(type);
    if (python.empty()) return to_.refused(each.name, "has a type that torch.save has not", "convert it before");
    const bool is_typed = !storage_name.empty();
    text(each.name);
    global("torch._utils", is_typed ? "_rebuild_tensor_v2" : "_rebuild_tensor_v3");
    items_ += '(';
    add_storage(tensor, storage_name);
    whole(tensor.storage_offset());
    counts(tensor.sizes());
    counts(tensor.strides());
    items_ += '\x89';  // requires_grad
    global("collections", "OrderedDict");
    items_ += ")R";  // no hooks
    if (!is_typed) global("torch", python);
    items_ += "tR";
    return {};
  }

  [[nodiscard]] std::string pickle() const { return "\x80\x02}(" + items_ + "u."; }
  /// By their keys.
  [[nodiscard]] const std::vector<at::Tensor>& storages() const { return storages_; }

 private:
  void text(std::string_view value) { (items_ += 'X' + little_bytes(value.size(), 4)) += value; }
  void global(std::string_view module, std::string_view name) {
    ((((items_ += 'c') += module) += '\n') += name) += '\n';
  }
  void whole(std::int64_t value) { items_ += "\x8a\x08" + little_bytes(static_cast<std::uint64_t>(value), 8); }
  void counts(at::IntArrayRef values) {
    items_ += '(';
    for (const std::int64_t each : values) whole(each);
    items_ += 't';
  }

  /// ("storage", class, key, device, elements). torch.load keeps one type for each key.
  void add_storage(const at::Tensor& tensor, std::string_view class_name) {
    const c10::Storage& storage = tensor.storage();
    const std::size_t element = class_name.empty() ? 1 : tensor.element_size();
    const auto elements = static_cast<std::int64_t>(storage.nbytes() / element);
    const auto [known, is_new] =
        keys_.try_emplace({storage.unsafeGetStorageImpl(), tensor.scalar_type()}, storages_.size());
    if (is_new) {
      const auto bytes = elements * static_cast<std::int64_t>(element);
      storages_.push_back(at::empty({0}, tensor.options().dtype(at::kByte)).set_(storage, 0, {bytes}, {1}));
    }
    items_ += '(';
    text("storage");
    if (class_name.empty()) {
      global("torch.storage", "UntypedStorage");
    } else {
      global("torch", class_name);
    }
    text(std::to_string(known->second));
    text("cpu");
    whole(elements);
    items_ += "tQ";
  }

  const weights_writing& to_;
  std::string items_;
  std::vector<at::Tensor> storages_;
  std::map<std::pair<const c10::StorageImpl*, c10::ScalarType>, std::size_t> keys_;
};

}  // namespace

expected<void> write_torch_zip(weights_writing& to, const state_dict& dict) {
  dict_pickle pickled(to);
  for (const named_tensor& each : dict) {
    TROUPE_TRY(pickled.add(each));
  }
  expected<void> outcome;
  // Its destructor would throw after a write that failed, and end the process: it is never told.
  const auto write = [&](const void* bytes, std::size_t count) {
    if (outcome) outcome = to.write({static_cast<const char*>(bytes), count});
    return count;
  };
  caffe2::serialize::PyTorchStreamWriter zip(write);
  const std::string pickle = pickled.pickle();
  const std::string_view order = "little";
  zip.writeRecord("data.pkl", pickle.data(), pickle.size());
  zip.writeRecord("byteorder", order.data(), order.size());
  for (std::size_t key = 0; key < pickled.storages().size() && outcome; ++key) {
    const at::Tensor bytes = pickled.storages()[key].cpu();
    zip.writeRecord("data/" + std::to_string(key), bytes.const_data_ptr(), bytes.nbytes());
  }
  zip.writeEndOfFile();
  return outcome;
}

}  // namespace troupe
