#include <stdexcept>

#include <ATen/core/Dict.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/serialization/import.h>

#include "runtime/model/archive_check.hpp"
#include "runtime/model/model_output.hpp"
#include "runtime/model/move_module.hpp"
#include <troupe/model.hpp>

namespace troupe {
namespace {

named_tensors named_results(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor();
  named_tensors made;
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) made.set(entry.key().toStringRef(), entry.value().toTensor());
    return made;
  }
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    for (std::size_t i = 0; i < elements.size(); ++i) made.set(std::to_string(i), elements[i].toTensor());
    return made;
  }
  throw std::runtime_error("forward returned " + value.tagKind() +
                           ", and a tensor, a dict of tensors or a tuple of "
                           "tensors is possible");
}

class torchscript_stage final : public stage_function {
 public:
  explicit torchscript_stage(torch::jit::Module module) : module_(std::move(module)) {}

  [[nodiscard]] named_tensors run(const named_tensors& inputs, const micro_batch_info&) override {
    if (inputs.size() == 1) return named_results(module_.forward({inputs.only()}));
    std::unordered_map<std::string, c10::IValue> by_name;
    for (const auto& [name, tensor] : inputs) by_name.emplace(name, tensor);
    return named_results(module_.forward({}, by_name));
  }

 private:
  torch::jit::Module module_;
};

std::shared_ptr<stage_function> make(torch::jit::Module module, const stage_context& context) {
  send_model_output_to_stderr();
  module.eval();
  if (context.dtype && has_quantized_weights(module))
    throw std::runtime_error("the model is quantized, and its weights cannot be cast: leave the dtype out");
  if (context.dtype) module = cast_to(module, *context.dtype);
  if (!context.device.is_cpu()) module = moved(module, context.device);
  return std::make_shared<torchscript_stage>(std::move(module));
}

}  // namespace

stage_factory torchscript(const torch::jit::Module& module) {
  return [module](const stage_context& context) { return make(module.clone(), context); };
}

stage_factory torchscript_file(std::filesystem::path file, model_loading how) {
  return [file = std::move(file), how](const stage_context& context) {
    const auto fine = open_archive(file).and_then([&](archive_file opened) { return check_torchscript(opened, how); });
    if (!fine) throw std::runtime_error(to_string(fine.error()));
    send_model_output_to_stderr();  // loading runs code
    return make(torch::jit::load(file.string(), c10::Device(c10::kCPU)), context);
  };
}

}  // namespace troupe
