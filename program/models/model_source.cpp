#include <filesystem>
#include <utility>
#include <variant>

#include "messages/try.hpp"
#include "program/models/layered_model.hpp"
#include "program/models/local_file.hpp"
#include "program/models/state_file.hpp"
#include "runtime/architecture/read_built_in.hpp"
#include "runtime/checkpoint/load_files.hpp"
#include "runtime/graph/replace_weights.hpp"
#include "runtime/model/cast_weights.hpp"
#include "runtime/model/code_layers.hpp"
#include "runtime/os/file_hash.hpp"
#include "runtime/rewrite/needed_weights.hpp"
#include <troupe/topology.hpp>

namespace troupe {
namespace {

std::filesystem::path local_path(const std::filesystem::path& path) {
  return local_file(path.string());
}

/// How a source is opened.
struct opening {
  const std::string& pipeline;
  const cut_options& options;
  /// Null: all layers.
  const kept_layers* kept;
  /// Null: the weights that the source has.
  const state_dict* state;
};

/// The graph with the weights of the layers that are kept, in the type that is asked for.
expected<operator_graph> with_options(const expected<model>& opened, const opening& how) {
  if (!opened) return tl::make_unexpected(opened.error());
  operator_graph graph = opened->graph();
  if (how.state != nullptr) {
    const auto fitted = TROUPE_TRY(fitted_state(graph.weights, {}, *how.state, true, graph.file));
    graph = with_values(graph, fitted);
  }
  if (how.kept != nullptr) {
    layered_model whole(std::move(graph), how.options.layers);
    whole.bind(how.kept->inputs);
    if (how.kept->end > whole.layers().size()) {
      return fail(error_code::worker_mismatch, whole.name(), "it has fewer layers than the driver's",
                  "leave the model's file alone while it is evaluated");
    }
    graph = with_weights_of(whole.plain(), how.kept->begin, how.kept->end);
  }
  return how.options.dtype ? cast_weights(graph, *how.options.dtype)
                           : expected<operator_graph>(with_aligned_weights(std::move(graph)));
}

model_loading loading_of(const cut_options& options) {
  return {.allow_effects = options.allow_effects};
}

expected<operator_graph> open_graph(const model_with_weights& what, const opening& how) {
  return with_options(load_model(what, loading_of(how.options), local_path), how);
}
expected<operator_graph> open_graph(const std::string& file, const opening& how) {
  if (is_model_folder(file, local_path)) return open_graph(model_with_weights{.weights = file}, how);
  return with_options(load_model(local_file(file), loading_of(how.options)), how);
}
expected<operator_graph> open_graph(const torch::jit::Module& module, const opening& how) {
  return with_options(make_model(module, how.pipeline), how);
}
expected<operator_graph> open_graph(const model& loaded, const opening& how) {
  return with_options(loaded, how);
}
/// Code builds all of its layers.
expected<operator_graph> open_graph(const std::vector<layer_spec>& layers, const opening& how) {
  auto graph = TROUPE_TRY(graph_of_layers(layers, how.pipeline, how.options.dtype));
  if (how.state != nullptr) TROUPE_TRY(write_code_layers(graph, *how.state));
  return graph;
}

expected<std::string> content_of(const layered_model& model) {
  sha256 hash;
  for (const graph_layer& each : model.layers()) hash.add(each.type.data(), each.type.size() + 1);
  for (const at::Tensor& each : model.tensors()) {
    const at::Tensor whole = each.detach().cpu().contiguous();
    hash.add(whole.data_ptr(), whole.nbytes());
  }
  return hash.digest();
}

}  // namespace

expected<void> model_source::check(const cut_options& options, const std::string& pipeline) const {
  if (options.allow_effects && !std::holds_alternative<std::string>(from_)) {
    return fail(error_code::flags_contradict, "pipeline '" + pipeline + "', allow_effects",
                "it is for models that come from a file", "leave it out");
  }
  return {};
}

expected<layered_model_ptr> model_source::open(const cut_options& options, const std::string& pipeline,
                                               const kept_layers* kept) const {
  state_dict read;
  if (!state_ && !state_file_.empty()) read = TROUPE_TRY(read_state_file(state_file_));
  const opening how{pipeline, options, kept, state_ ? state_.get() : state_file_.empty() ? nullptr : &read};
  auto graph = TROUPE_TRY(std::visit([&](const auto& source) { return open_graph(source, how); }, from_));
  return std::make_shared<layered_model>(std::move(graph), options.layers);
}

std::vector<std::string> model_source::files() const {
  const auto* file = std::get_if<std::string>(&from_);
  const auto* built_in = std::get_if<model_with_weights>(&from_);
  std::vector<std::string> names;
  if (!state_file_.empty()) names.push_back(state_file_);
  if (file != nullptr && !is_model_folder(*file, local_path)) {
    names.insert(names.begin(), *file);
    return names;
  }
  if (file == nullptr && built_in == nullptr) return names;
  for (const auto& each :
       files_of(built_in != nullptr ? *built_in : model_with_weights{.weights = *file}, local_path)) {
    names.push_back(each.string());
  }
  return names;
}

expected<std::string> model_source::identity(const cut_options& options, const std::string& pipeline) const {
  const std::vector<std::string> all = files();
  if (all.size() == 1) return sha256_of_file(all.front(), error_code::model_unreadable);
  if (all.empty()) {
    const auto model = TROUPE_TRY(open(options, pipeline));
    return content_of(*model);
  }
  sha256 hash;
  for (const std::string& each : all) {
    const std::string digest = TROUPE_TRY(sha256_of_file(each, error_code::model_unreadable));
    hash.add(digest.data(), digest.size());
  }
  return hash.digest();
}

bool model_source::is_built_in() const {
  if (const auto* what = std::get_if<model_with_weights>(&from_)) return what->model.empty();
  const auto* file = std::get_if<std::string>(&from_);
  return file != nullptr && is_model_folder(*file, local_path);
}

std::string model_source::name_or(const std::string& otherwise) const {
  if (const auto* file = std::get_if<std::string>(&from_)) return *file;
  const auto* built_in = std::get_if<model_with_weights>(&from_);
  return built_in != nullptr ? built_in->weights : otherwise;
}

model_source model_source::with_state(std::shared_ptr<const state_dict> state, std::string file) const {
  model_source made = *this;
  made.state_ = std::move(state);
  made.state_file_ = std::move(file);
  return made;
}

}  // namespace troupe
