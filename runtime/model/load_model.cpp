#include <torch/csrc/jit/serialization/import.h>

#include "messages/try.hpp"
#include "runtime/architecture/read_built_in.hpp"
#include "runtime/archive/archive_file.hpp"
#include "runtime/exported/read_exported.hpp"
#include "runtime/graph/operator_graph.hpp"
#include "runtime/model/archive_check.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/model/lower_module.hpp"
#include "runtime/model/model_output.hpp"
#include <troupe/model.hpp>

namespace troupe {

const std::string& model::name() const noexcept {
  return graph_->file;
}

expected<model> make_model(const torch::jit::Module& module, std::string name) {
  send_model_output_to_stderr();
  try {
    torch::jit::Module evaluated = module;
    evaluated.eval();
    auto made = TROUPE_TRY(lower_module(evaluated, name));
    return model(std::make_shared<const operator_graph>(std::move(made)));
  } catch (const std::exception& caught) {
    return fail(error_code::model_unreadable, std::move(name), "LibTorch cannot read it: " + libtorch_message(caught),
                "export the model again, with a LibTorch that is not newer than the one in use here");
  }
}

expected<model> load_model(const std::filesystem::path& file, const model_loading& how) {
  if (is_model_folder(file)) return load_model(model_with_weights{.weights = file.string()});
  archive_file opened = TROUPE_TRY(open_archive(file));
  if (is_exported(opened)) {
    auto read = TROUPE_TRY(read_exported(std::move(opened)));
    return model(std::make_shared<const operator_graph>(std::move(read)));
  }
  TROUPE_TRY(check_torchscript(opened, how));
  send_model_output_to_stderr();  // loading runs code
  try {
    return make_model(torch::jit::load(file.string(), at::kCPU), file.string());
  } catch (const std::exception& caught) {
    const std::string message = libtorch_message(caught);
    return fail(error_code::model_unreadable, file.string(), "LibTorch cannot load it: " + message,
                message.starts_with("Unknown builtin op")
                    ? own_operators_fix
                    : "copy the file again, or export the model again, without torch.jit.optimize_for_inference and "
                      "with a LibTorch that is not newer than the one in use here");
  }
}

}  // namespace troupe
