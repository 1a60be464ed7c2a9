#include <unordered_set>

#include "messages/try.hpp"
#include "runtime/os/errno_text.hpp"
#include "runtime/weights/torch_pickle.hpp"
#include "runtime/weights/writing.hpp"

namespace troupe {
namespace {

expected<void> check_tensors(const weights_writing& to, const state_dict& dict) {
  std::unordered_set<std::string_view> names;
  for (const named_tensor& each : dict) {
    if (!names.insert(each.name).second) return to.refused(each.name, "has a name that another one has", "rename it");
    TROUPE_TRY(to.check_dense(each.name, each.tensor));
  }
  return {};
}

expected<void> write_torch_zip(weights_writing& to, const state_dict& dict) {
  torch_pickle pickle;
  pickle.begin_dict();
  for (const named_tensor& each : dict) {
    pickle.put_text(each.name);
    TROUPE_TRY(pickle.put_tensor(to, each.name, each.tensor));
  }
  pickle.end_dict();
  return pickle.write(to);
}

}  // namespace

expected<void> weights_writing::check_dense(const std::string& name, const at::Tensor& tensor) const {
  const bool is_dense = tensor.defined() && tensor.layout() == at::kStrided && !tensor.is_quantized() &&
                        !tensor.is_meta() && tensor.has_storage();
  if (is_dense) return {};
  return refused(name, "is sparse, quantized or without values", "make it dense before: to_dense(), dequantize()");
}

tl::unexpected<error> weights_writing::refused(const std::string& name, const std::string& finding,
                                               const std::string& fix) const {
  return fail(error_code::model_unsupported, where_, "the tensor " + name + " " + finding, fix);
}

expected<void> weights_writing::told(int number) const {
  if (number == 0) return {};
  return fail(error_code::output_unwritable, where_, errno_text(number),
              "name a file in a directory that is there and can be written to, with space left");
}

at::Tensor apart(const at::Tensor& tensor) {
  const at::Tensor here = tensor.detach().cpu();
  return here.storage().nbytes() == here.nbytes() ? here : here.clone(at::MemoryFormat::Contiguous);
}

expected<void> save_weights(const std::filesystem::path& file, const state_dict& dict, weights_format format) {
  weights_writing to(file);
  TROUPE_TRY(check_tensors(to, dict));
  TROUPE_TRY(to.open());
  TROUPE_TRY(format == weights_format::safetensors ? write_safetensors(to, dict) : write_torch_zip(to, dict));
  return to.publish();
}

}  // namespace troupe
