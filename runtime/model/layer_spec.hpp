#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "messages/error.hpp"

namespace troupe {

/// A layer that has been built. Replicas of a pipeline share it: forward() is called from several threads at a time,
/// and must not write what it holds (modules in eval mode do not).
struct built_layer {
  std::function<at::Tensor(const at::Tensor& input)> forward;
  /// Trainable parameters; those of a tied module count at its first place only.
  std::uint64_t trainable = 0;
};

/// DeepSpeed's LayerSpec: what a layer is, built only when a pipeline starts.
class layer_spec {
 public:
  /// `build` gives a torch::nn module, or anything held by pointer with forward(at::Tensor), parameters() and eval().
  /// `type` is its name in errors, reports and `type:REGEX`. What it throws is an error that names the layer.
  template <class Build>
  layer_spec(std::string type, Build build) : layer_spec(std::move(type), std::move(build), std::nullopt) {}

  /// A layer without weights: at::Tensor(const at::Tensor&), callable from several threads at a time.
  static layer_spec function(std::string type, std::function<at::Tensor(const at::Tensor&)> forward);

  [[nodiscard]] const std::string& type() const noexcept { return type_; }
  [[nodiscard]] const std::optional<std::string>& tie() const noexcept { return tie_; }

 protected:
  template <class Build>
  layer_spec(std::string type, Build build, std::optional<std::string> tie)
      : type_(std::move(type)), tie_(std::move(tie)) {
    using holder = decltype(build());
    bind_with<holder>([](holder& module, const at::Tensor& input) -> at::Tensor { return module->forward(input); });
    make_ = [build = std::move(build)]() mutable -> std::shared_ptr<void> {
      auto made = std::make_shared<holder>(build());
      (*made)->eval();
      return made;
    };
  }

  /// Calls forward(holder&, input) on the module, whoever made it.
  template <class Holder, class Forward>
  void bind_with(Forward forward) {
    module_type_ = std::type_index(typeid(Holder));
    bind_ = [forward](const std::shared_ptr<void>& module) {
      built_layer made;
      const auto held = std::static_pointer_cast<Holder>(module);
      for (const at::Tensor& each : (*held)->parameters()) {
        if (each.requires_grad()) made.trainable += static_cast<std::uint64_t>(each.numel());
      }
      made.forward = [held, forward](const at::Tensor& input) { return forward(*held, input); };
      return made;
    };
  }

 private:
  friend expected<std::vector<built_layer>> build_layers(const std::vector<layer_spec>& specs);

  explicit layer_spec(std::string type) : type_(std::move(type)) {}

  std::string type_;
  std::optional<std::string> tie_;
  std::type_index module_type_ = std::type_index(typeid(void));
  std::function<std::shared_ptr<void>()> make_;
  std::function<built_layer(const std::shared_ptr<void>&)> bind_;
};

/// DeepSpeed's TiedLayerSpec: all places of one key are one module, built by the first of them, with one set of
/// weights, also where they lie in different stages.
class tied_layer_spec : public layer_spec {
 public:
  template <class Build>
  tied_layer_spec(std::string key, std::string type, Build build)
      : layer_spec(std::move(type), std::move(build), std::move(key)) {}

  /// With a forward of this place's own: forward(module, input), as where an embedding is also the output projection.
  template <class Build, class Forward>
  tied_layer_spec(std::string key, std::string type, Build build, Forward forward)
      : layer_spec(std::move(type), std::move(build), std::move(key)) {
    this->template bind_with<decltype(build())>(std::move(forward));
  }
};

/// All layers, in order; modules of one key once. E0602 with the layer and what its factory threw or returned, E0504
/// for places of one key with modules of different types.
expected<std::vector<built_layer>> build_layers(const std::vector<layer_spec>& specs);

/// "layer 3 (Linear)"
std::string layer_name(std::size_t index, const layer_spec& spec);

}  // namespace troupe
