#include <torch/csrc/jit/serialization/import.h>

#include "messages/try.hpp"
#include "runtime/model/chain_graph.hpp"
#include "runtime/model/chain_summary.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/model/model_file.hpp"
#include "runtime/model/model_output.hpp"
#include <troupe/model.hpp>

namespace troupe {
namespace {

std::uint64_t bytes_of(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.nbytes() : 0;
}

layer describe(const found_layer& found, std::size_t index) {
  layer made;
  made.index = index;
  made.name = found.name;
  made.type = found.module.type()->name()->name();
  made.passes_through = found.passes_through;
  made.module = found.module;
  for (const at::Tensor& parameter : found.module.parameters()) {
    const auto count = static_cast<std::uint64_t>(parameter.numel());
    made.parameters += count;
    made.trainable += parameter.requires_grad() ? count : 0;
  }
  count_bytes(made);
  return made;
}

}  // namespace

void count_bytes(layer& of) {
  of.parameter_bytes = of.buffer_bytes = 0;
  for (const at::Tensor& parameter : of.module.parameters()) of.parameter_bytes += bytes_of(parameter);
  for (const at::Tensor& buffer : of.module.buffers()) of.buffer_bytes += bytes_of(buffer);
}

std::string to_string(const layer& l) {
  return "layer " + std::to_string(l.index) + " (" + l.name + " " + l.type + ")";
}

expected<layer_chain> make_chain(const torch::jit::Module& module, std::string name) {
  send_model_output_to_stderr();
  try {
    torch::jit::Module evaluated = module;
    evaluated.eval();
    auto found = TROUPE_TRY(find_layers(evaluated, name));
    layer_chain chain{std::move(name), {}};
    for (const found_layer& one : found) chain.layers.push_back(describe(one, chain.layers.size()));
    return chain;
  } catch (const std::exception& caught) {
    return fail(error_code::model_unreadable, std::move(name), "LibTorch cannot read it: " + libtorch_message(caught),
                "export the model again, with a LibTorch that is not newer than the one in use here");
  }
}

expected<layer_chain> load_chain(const std::filesystem::path& file, const model_loading& how) {
  TROUPE_TRY(check_model_file(file, how));
  send_model_output_to_stderr();  // loading runs code
  try {
    return make_chain(torch::jit::load(file.string(), at::kCPU), file.string());
  } catch (const std::exception& caught) {
    return fail(
        error_code::model_unreadable, file.string(), "LibTorch cannot load it: " + libtorch_message(caught),
        "copy the file again, or export the model again with a LibTorch that is not newer than the one in use here");
  }
}

}  // namespace troupe
