#include <algorithm>
#include <functional>
#include <map>

#include <nlohmann/json.hpp>

#include "messages/try.hpp"
#include "runtime/weights/tensor_types.hpp"
#include "runtime/weights/writing.hpp"

namespace troupe {
namespace {

/// The header is filled up with blanks, so that what follows lies at a multiple of the largest element.
constexpr std::size_t header_alignment = 64;

std::vector<const named_tensor*> in_data_order(const state_dict& dict) {
  std::vector<const named_tensor*> order;
  order.reserve(dict.size());
  for (const named_tensor& each : dict) order.push_back(&each);
  std::ranges::stable_sort(order, std::greater<>{}, [](const auto* each) { return each->tensor.element_size(); });
  return order;
}

expected<std::string> header_of(const weights_writing& to, const state_dict& dict,
                                const std::vector<const named_tensor*>& order) {
  std::map<const named_tensor*, std::uint64_t> begins;
  std::uint64_t end = 0;
  for (const named_tensor* each : order) {
    begins[each] = end;
    end += each->tensor.nbytes();
  }
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  for (const named_tensor& each : dict) {
    const std::string_view type = safetensors_name(each.tensor.scalar_type());
    if (type.empty())
      return to.refused(each.name, "has a type that safetensors has not", "use weights_format::torch_zip");
    if (each.name == "__metadata__") return to.refused(each.name, "has a name that is reserved", "rename it");
    const std::uint64_t begin = begins.at(&each);
    header[each.name] = {
        {"dtype", type}, {"shape", each.tensor.sizes().vec()}, {"data_offsets", {begin, begin + each.tensor.nbytes()}}};
  }
  // Names that are no UTF-8 would make it throw.
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::size_t filled = (text.size() + 8 + header_alignment - 1) / header_alignment * header_alignment - 8;
  text.resize(filled, ' ');
  return text;
}

}  // namespace

expected<void> write_safetensors(weights_writing& to, const state_dict& dict) {
  const auto order = in_data_order(dict);
  const std::string header = TROUPE_TRY(header_of(to, dict, order));
  std::string length(8, '\0');
  for (std::size_t i = 0; i < length.size(); ++i) length[i] = static_cast<char>(header.size() >> (8 * i) & 0xff);
  TROUPE_TRY(to.write(length + header));
  for (const named_tensor* each : order) {
    const at::Tensor plain = each->tensor.detach().resolve_conj().resolve_neg().cpu().contiguous();
    TROUPE_TRY(to.write({static_cast<const char*>(plain.const_data_ptr()), plain.nbytes()}));
  }
  return {};
}

}  // namespace troupe
