#include <exception>
#include <map>

#include "messages/exception_text.hpp"
#include <troupe/layer_spec.hpp>

namespace troupe {
namespace {

tl::unexpected<error> not_built(std::size_t index, const layer_spec& spec, const std::string& cause) {
  return fail(error_code::forward_failed, layer_name(index, spec), "it could not be built: " + cause,
              "check the layer's factory");
}

}  // namespace

std::string layer_name(std::size_t index, const layer_spec& spec) {
  return "layer " + std::to_string(index) + " (" + spec.type() + ")";
}

layer_spec layer_spec::function(std::string type, std::function<at::Tensor(const at::Tensor&)> forward) {
  layer_spec made(std::move(type));
  made.make_ = [] { return std::make_shared<int>(0); };
  made.bind_ = [forward = std::move(forward)](const std::shared_ptr<void>&) { return built_layer{forward, 0}; };
  return made;
}

std::size_t first_place(const std::vector<layer_spec>& specs, std::size_t index) {
  if (!specs[index].tie()) return index;
  for (std::size_t other = 0; other < index; ++other) {
    if (specs[other].tie() == specs[index].tie()) return other;
  }
  return index;
}

expected<std::vector<built_layer>> build_layers(const std::vector<layer_spec>& specs) {
  return build_layers(specs, 0, specs.size(), nullptr);
}

expected<std::vector<built_layer>> build_layers(const std::vector<layer_spec>& specs, std::size_t begin,
                                                std::size_t end, const std::function<void(std::size_t)>& before) {
  std::vector<built_layer> built;
  std::map<std::size_t, std::shared_ptr<void>> tied;  // by first place
  for (std::size_t index = begin; index < end; ++index) {
    const layer_spec& spec = specs[index];
    const std::size_t first = first_place(specs, index);
    if (specs[first].module_type_ != spec.module_type_) {
      return fail(error_code::topology_invalid, layer_name(index, spec),
                  "it is tied by \"" + *spec.tie() + "\" to " + layer_name(first, specs[first]) +
                      ", which is a module of another type",
                  "tie layers that are the same module");
    }
    try {
      std::shared_ptr<void>& module = tied[first];
      if (module == nullptr) {
        if (before) before(first);
        module = specs[first].make_();
      }
      built.push_back(spec.bind_(module));
      if (!built.back().forward) return not_built(index, spec, "it has no forward function");
      if (first != index) built.back().trainable = 0;
    } catch (...) {
      return not_built(index, spec, current_exception_text());
    }
  }
  return built;
}

}  // namespace troupe
