#include <filesystem>
#include <type_traits>
#include <utility>
#include <variant>

#include "messages/try.hpp"
#include "program/models/layered_model.hpp"
#include "program/models/local_file.hpp"
#include "runtime/architecture/read_built_in.hpp"
#include "runtime/journal/file_hash.hpp"
#include "runtime/model/cast_weights.hpp"
#include "runtime/model/code_layers.hpp"
#include "runtime/rewrite/needed_weights.hpp"
#include <troupe/topology.hpp>

namespace troupe {
namespace {

std::filesystem::path local_path(const std::filesystem::path& path) {
  return local_file(path.string());
}

expected<model> open_model(const model_with_weights& what, const std::string&, const cut_options& options) {
  return load_model(what, {.allow_effects = options.allow_effects}, local_path);
}
expected<model> open_model(const std::string& file, const std::string& pipeline, const cut_options& options) {
  if (is_model_folder(file, local_path)) return open_model(model_with_weights{.weights = file}, pipeline, options);
  return load_model(local_file(file), {.allow_effects = options.allow_effects});
}
expected<model> open_model(const torch::jit::Module& module, const std::string& name, const cut_options&) {
  return make_model(module, name);
}
expected<model> open_model(const model& loaded, const std::string&, const cut_options&) {
  return loaded;
}

/// Weights that are not kept are not cast either: they have no memory.
expected<operator_graph> with_options(operator_graph graph, const cut_options& options, const kept_layers* kept) {
  if (kept != nullptr) {
    layered_model whole(std::move(graph), options.layers);
    whole.bind(kept->inputs);
    if (kept->end > whole.layers().size()) {
      return fail(error_code::worker_mismatch, whole.name(), "it has fewer layers than the driver's",
                  "leave the model's file alone while it is evaluated");
    }
    graph = with_weights_of(whole.plain(), kept->begin, kept->end);
  }
  return options.dtype ? cast_weights(graph, *options.dtype) : expected<operator_graph>(std::move(graph));
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
  auto graph = TROUPE_TRY(std::visit(
      [&](const auto& source) -> expected<operator_graph> {
        if constexpr (std::is_same_v<std::decay_t<decltype(source)>, std::vector<layer_spec>>) {
          return graph_of_layers(source, pipeline, options.dtype);
        } else {
          const auto opened = TROUPE_TRY(open_model(source, pipeline, options));
          return with_options(opened.graph(), options, kept);
        }
      },
      from_));
  return std::make_shared<layered_model>(std::move(graph), options.layers);
}

std::vector<std::string> model_source::files() const {
  const auto* file = std::get_if<std::string>(&from_);
  const auto* built_in = std::get_if<model_with_weights>(&from_);
  if (file != nullptr && !is_model_folder(*file, local_path)) return {*file};
  if (file == nullptr && built_in == nullptr) return {};
  std::vector<std::string> names;
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

std::string model_source::name_or(const std::string& otherwise) const {
  if (const auto* file = std::get_if<std::string>(&from_)) return *file;
  const auto* built_in = std::get_if<model_with_weights>(&from_);
  return built_in != nullptr ? built_in->weights : otherwise;
}

}  // namespace troupe
