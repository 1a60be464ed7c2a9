#include <exception>
#include <map>

#include "messages/exception_text.hpp"
#include <troupe/layer_spec.hpp>

namespace troupe {
namespace {

struct tied_module {
  std::shared_ptr<void> module;
  std::type_index type;
  std::size_t first_place;
};

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

expected<std::vector<built_layer>> build_layers(const std::vector<layer_spec>& specs) {
  return build_layers(specs, 0, specs.size(), nullptr);
}

expected<std::vector<built_layer>> build_layers(const std::vector<layer_spec>& specs, std::size_t begin,
                                                std::size_t end, const std::function<void(std::size_t)>& before) {
  std::vector<built_layer> built;
  std::map<std::string, tied_module> tied;
  for (std::size_t index = begin; index < end; ++index) {
    const layer_spec& spec = specs[index];
    const auto known = spec.tie() ? tied.find(*spec.tie()) : tied.end();
    if (known != tied.end() && known->second.type != spec.module_type_) {
      return fail(error_code::topology_invalid, layer_name(index, spec),
                  "it is tied by \"" + *spec.tie() + "\" to " +
                      layer_name(known->second.first_place, specs[known->second.first_place]) +
                      ", which is a module of another type",
                  "tie layers that are the same module");
    }
    try {
      if (before && known == tied.end()) before(index);
      const std::shared_ptr<void> module = known != tied.end() ? known->second.module : spec.make_();
      built.push_back(spec.bind_(module));
      if (!built.back().forward) return not_built(index, spec, "it has no forward function");
      if (known != tied.end()) {
        built.back().trainable = 0;
      } else if (spec.tie()) {
        tied.emplace(*spec.tie(), tied_module{module, spec.module_type_, index});
      }
    } catch (...) {
      return not_built(index, spec, current_exception_text());
    }
  }
  return built;
}

}  // namespace troupe
