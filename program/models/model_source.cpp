#include <utility>
#include <variant>

#include "messages/try.hpp"
#include "program/models/layered_model.hpp"
#include "program/models/local_file.hpp"
#include "runtime/journal/file_hash.hpp"
#include "runtime/model/cast_weights.hpp"
#include "runtime/model/code_layers.hpp"
#include <troupe/topology.hpp>

namespace troupe {
namespace {

expected<operator_graph> with_type(const expected<model>& opened, std::optional<c10::ScalarType> dtype) {
  if (!opened) return tl::make_unexpected(opened.error());
  return dtype ? cast_weights(opened->graph(), *dtype) : opened->graph();
}

expected<operator_graph> open_graph(const std::string& file, const std::string&, const cut_options& options) {
  return with_type(load_model(local_file(file), {.allow_effects = options.allow_effects}), options.dtype);
}
expected<operator_graph> open_graph(const torch::jit::Module& module, const std::string& name,
                                    const cut_options& options) {
  return with_type(make_model(module, name), options.dtype);
}
expected<operator_graph> open_graph(const model& loaded, const std::string&, const cut_options& options) {
  return with_type(loaded, options.dtype);
}
expected<operator_graph> open_graph(const std::vector<layer_spec>& layers, const std::string& name,
                                    const cut_options& options) {
  return graph_of_layers(layers, name, options.dtype);
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

expected<layered_model_ptr> model_source::open(const cut_options& options, const std::string& pipeline) const {
  auto graph = TROUPE_TRY(std::visit([&](const auto& source) { return open_graph(source, pipeline, options); }, from_));
  return std::make_shared<layered_model>(std::move(graph), options.layers);
}

std::vector<std::string> model_source::files() const {
  const auto* file = std::get_if<std::string>(&from_);
  return file == nullptr ? std::vector<std::string>() : std::vector{*file};
}

expected<std::string> model_source::identity(const cut_options& options, const std::string& pipeline) const {
  if (const auto* file = std::get_if<std::string>(&from_)) return sha256_of_file(*file, error_code::model_unreadable);
  const auto model = TROUPE_TRY(open(options, pipeline));
  return content_of(*model);
}

std::string model_source::name_or(const std::string& otherwise) const {
  const auto* file = std::get_if<std::string>(&from_);
  return file == nullptr ? otherwise : *file;
}

}  // namespace troupe
