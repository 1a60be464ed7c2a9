#include <fstream>
#include <system_error>

#include <torch/csrc/jit/serialization/import.h>

#include "messages/try.hpp"
#include "runtime/architecture/read_built_in.hpp"
#include "runtime/archive/zip_directory.hpp"
#include "runtime/exported/read_exported.hpp"
#include "runtime/graph/operator_graph.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/model/lower_module.hpp"
#include "runtime/model/model_file.hpp"
#include "runtime/model/model_output.hpp"
#include <troupe/model.hpp>

namespace troupe {

namespace {

bool is_export(const std::filesystem::path& file) {
  std::error_code problem;
  if (!std::filesystem::is_regular_file(file, problem)) return false;
  std::ifstream stream(file, std::ios::binary);
  const auto entries = read_zip_directory(stream, std::filesystem::file_size(file, problem));
  if (!entries) return false;
  std::vector<std::string> names;
  for (const zip_entry& each : *entries) names.push_back(each.name);
  return is_exported(names);
}

}  // namespace

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
  if (is_export(file)) {
    auto read = TROUPE_TRY(read_exported(file));
    return model(std::make_shared<const operator_graph>(std::move(read)));
  }
  TROUPE_TRY(check_model_file(file, how));
  send_model_output_to_stderr();  // loading runs code
  try {
    return make_model(torch::jit::load(file.string(), at::kCPU), file.string());
  } catch (const std::exception& caught) {
    return fail(
        error_code::model_unreadable, file.string(), "LibTorch cannot load it: " + libtorch_message(caught),
        "copy the file again, or export the model again with a LibTorch that is not newer than the one in use here");
  }
}

}  // namespace troupe
