#include <type_traits>
#include <utility>
#include <variant>

#include "messages/try.hpp"
#include "program/models/layered_model.hpp"
#include "program/models/local_file.hpp"
#include "runtime/journal/file_hash.hpp"
#include <troupe/topology.hpp>

namespace troupe {
namespace {

expected<layer_chain> open_chain(const std::string& file, const std::string&, const cut_options& options) {
  return load_chain(local_file(file), {.allow_effects = options.allow_effects});
}
expected<layer_chain> open_chain(const torch::jit::Module& module, const std::string& name, const cut_options&) {
  return make_chain(module, name);
}
expected<layer_chain> open_chain(const layer_chain& chain, const std::string&, const cut_options&) {
  return chain;
}

expected<std::string> content_of(const layered_model& model) {
  sha256 hash;
  for (const layer_weight& each : model.weights()) hash.add(each.type_name.data(), each.type_name.size() + 1);
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
  if (options.optimize == optimize_mode::stage && std::holds_alternative<std::vector<layer_spec>>(from_)) {
    return fail(error_code::flags_contradict, "pipeline '" + pipeline + "', optimize",
                "layers that were built in code are not fused", "leave it out");
  }
  return {};
}

expected<layered_model_ptr> model_source::open(const cut_options& options, const std::string& pipeline) const {
  const auto dtype = options.dtype;
  return std::visit(
      [&](const auto& source) -> expected<layered_model_ptr> {
        if constexpr (std::is_same_v<std::decay_t<decltype(source)>, std::vector<layer_spec>>) {
          return make_layered(source, pipeline, dtype);
        } else {
          return open_chain(source, pipeline, options)
              .and_then([&](layer_chain chain) -> expected<layer_chain> {
                return dtype ? cast_layers(std::move(chain), *dtype) : std::move(chain);
              })
              .map([](layer_chain chain) { return make_layered(std::move(chain)); });
        }
      },
      from_);
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
