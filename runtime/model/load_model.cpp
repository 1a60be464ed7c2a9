#include <algorithm>
#include <array>
#include <system_error>

#include <torch/csrc/jit/serialization/import.h>

#include "messages/try.hpp"
#include "runtime/architecture/no_model_folder.hpp"
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

namespace {

std::filesystem::path folder_of(const std::filesystem::path& file) {
  return file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
}

expected<model> load_file(const std::filesystem::path& file, const model_loading& how) {
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

/// A file of a folder that is a model as a whole.
bool is_part_of_folder(const error& found, const std::filesystem::path& file) {
  constexpr std::array codes{error_code::model_not_torchscript, error_code::model_state_dict,
                             error_code::model_legacy_pickle};
  return std::ranges::find(codes, found.code) != codes.end() && is_model_folder(folder_of(file));
}

}  // namespace

expected<model> load_model(const std::filesystem::path& file, const model_loading& how) {
  if (is_model_folder(file)) return load_model(model_with_weights{.weights = file.string()});
  std::error_code problem;
  if (std::filesystem::is_directory(file, problem)) return no_model_in(file);
  auto opened = load_file(file, how);
  if (opened || !is_part_of_folder(opened.error(), file)) return opened;
  return fail(opened.error().code, opened.error().where, opened.error().cause,
              "give the folder, whose config.json says the architecture: --model " + folder_of(file).string());
}

}  // namespace troupe
