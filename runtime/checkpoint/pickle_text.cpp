#include "runtime/checkpoint/pickle_text.hpp"

#include <bit>
#include <map>
#include <type_traits>

#include <ATen/ops/empty.h>

#include "messages/try.hpp"
#include "runtime/weights/tensor_types.hpp"

namespace troupe {
namespace {

constexpr int written_deep_max = 64;

class pickler {
 public:
  explicit pickler(std::string where) : where_(std::move(where)) {}

  expected<pickled_text> write(const client_state& root) {
    made_.bytes = "\x80\x02";
    TROUPE_TRY(put(root, "the dict", 0));
    made_.bytes += '.';
    return std::move(made_);
  }

 private:
  expected<void> put(const client_state& dict, const std::string& name, int depth) {
    if (depth > written_deep_max) return refuse(name, "is nested more than 64 deep", "keep flat values");
    made_.bytes += "}(";
    for (const auto& [key, value] : dict) {
      put_text(key);
      TROUPE_TRY(put(value, key, depth + 1));
    }
    made_.bytes += 'u';
    return {};
  }

  expected<void> put(const client_value::list& list, const std::string& name, int depth) {
    if (depth > written_deep_max) return refuse(name, "is nested more than 64 deep", "keep flat values");
    made_.bytes += "](";
    for (const client_value& each : list) TROUPE_TRY(put(each, name, depth + 1));
    made_.bytes += 'e';
    return {};
  }

  expected<void> put(const client_value& value, const std::string& name, int depth) {
    return std::visit(
        [&](const auto& one) -> expected<void> {
          using type = std::decay_t<decltype(one)>;
          if constexpr (std::is_same_v<type, client_state> || std::is_same_v<type, client_value::list>) {
            return put(one, name, depth);
          } else if constexpr (std::is_same_v<type, at::Tensor>) {
            return put_tensor(one, name);
          } else {
            put_plain(one);
            return {};
          }
        },
        value.value);
  }

  void put_plain(std::monostate) { made_.bytes += 'N'; }
  void put_plain(bool value) { made_.bytes += value ? '\x88' : '\x89'; }
  void put_plain(const std::string& value) { put_text(value); }
  void put_plain(std::int64_t value) {
    made_.bytes += "\x8a\x08";  // LONG1 of 8 bytes, in two's complement
    put_bytes(static_cast<std::uint64_t>(value), 8);
  }
  void put_plain(double value) {
    made_.bytes += 'G';
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int byte = 7; byte >= 0; --byte) made_.bytes += static_cast<char>(bits >> (8 * byte) & 0xffU);
  }

  void put_text(const std::string& text) {
    made_.bytes += 'X';
    put_bytes(text.size(), 4);
    made_.bytes += text;
  }
  void put_bytes(std::uint64_t value, int count) {
    for (int byte = 0; byte < count; ++byte) made_.bytes += static_cast<char>(value >> (8 * byte) & 0xffU);
  }
  void put_global(const std::string& module, std::string_view name) {
    made_.bytes += 'c' + module + '\n';
    made_.bytes.append(name) += '\n';
  }
  void put_counts(at::IntArrayRef counts) {
    made_.bytes += '(';
    for (const std::int64_t each : counts) put_plain(each);
    made_.bytes += 't';
  }

  /// _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks)
  expected<void> put_tensor(const at::Tensor& given, const std::string& name) {
    const bool is_dense = given.defined() && given.layout() == at::kStrided && !given.is_quantized() &&
                          !given.is_meta() && given.has_storage() && !given.is_conj() && !given.is_neg();
    if (!is_dense) {
      return refuse(name, "is sparse, quantized or without values", "make it dense before: to_dense(), dequantize()");
    }
    at::Tensor tensor = given.detach().cpu();
    if (tensor.storage().nbytes() != tensor.nbytes()) tensor = tensor.clone(at::MemoryFormat::Contiguous);
    const std::string_view storage = storage_class(tensor.scalar_type());
    if (storage.empty()) return refuse(name, "is of a type that torch.save has no storage for", "cast it before");
    put_global("torch._utils", "_rebuild_tensor_v2");
    const std::size_t key = key_of(tensor);
    made_.bytes += "((";
    put_text("storage");
    put_global("torch", storage);
    put_text(std::to_string(key));
    put_text("cpu");
    put_plain(made_.storages[key].numel());
    made_.bytes += "tQ";
    put_plain(tensor.storage_offset());
    put_counts(tensor.sizes());
    put_counts(tensor.strides());
    put_plain(false);
    put_global("collections", "OrderedDict");
    made_.bytes += ")RtR";
    return {};
  }

  /// A storage is written once for all tensors of one type on it.
  std::size_t key_of(const at::Tensor& tensor) {
    const auto known =
        std::pair{static_cast<const void*>(tensor.storage().unsafeGetStorageImpl()), tensor.scalar_type()};
    const auto [found, is_new] = keys_.try_emplace(known, made_.storages.size());
    if (is_new) {
      const auto elements =
          static_cast<std::int64_t>(tensor.storage().nbytes() / static_cast<std::size_t>(tensor.element_size()));
      made_.storages.push_back(at::empty({0}, tensor.options()).set_(tensor.storage(), 0, {elements}, {1}));
    }
    return found->second;
  }

  [[nodiscard]] tl::unexpected<error> refuse(const std::string& name, const std::string& finding,
                                             const std::string& fix) const {
    return fail(error_code::model_unsupported, where_, name + " " + finding, fix);
  }

  std::string where_;
  pickled_text made_;
  std::map<std::pair<const void*, c10::ScalarType>, std::size_t> keys_;
};

}  // namespace

expected<pickled_text> pickle_of(const client_state& root, const std::string& where) {
  return pickler(where).write(root);
}

}  // namespace troupe
