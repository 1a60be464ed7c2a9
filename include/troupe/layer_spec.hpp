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

#include <troupe/error.hpp>

namespace troupe {

/// A parameter or buffer of a layer.
struct layer_tensor {
  std::string name;  ///< within the layer: "weight"; its position where the object has no named_parameters()
  at::Tensor tensor;
  bool is_buffer = false;
};

/// A built layer. The replicas of a pipeline share it: several threads call forward() at a time, so it must not write
/// its own state (modules in eval mode do not).
struct built_layer {
  std::function<at::Tensor(const at::Tensor& input)> forward;
  /// Number of trainable parameters. A tied module counts at its first place only.
  std::uint64_t trainable = 0;
  /// Parameters and buffers, with distinct names.
  std::vector<layer_tensor> tensors = {};
  /// Casts weights and buffers; null for a module without to().
  std::function<void(c10::ScalarType)> cast = nullptr;
  /// Moves weights and buffers to a device; null for a module without to().
  std::function<void(c10::Device)> move = nullptr;
  /// Puts it into training mode, or back into eval mode, in which it is built; null for a module without train().
  std::function<void(bool)> train = nullptr;
};

/// DeepSpeed's LayerSpec: the description of a layer, which is built once, on the thread that prepares the run. Each
/// worker process builds it again: its weights must be the same there (loaded, or drawn with a seed).
class layer_spec {
 public:
  /// `build` gives a torch::nn module, or a pointer to any object with forward(at::Tensor), parameters() and eval().
  /// `type` is the name in errors, reports and `type:REGEX`. An exception of `build` is an error that names the layer.
  template <class Build>
  layer_spec(std::string type, Build build) : layer_spec(std::move(type), std::move(build), std::nullopt) {}

  /// A layer without weights. Several threads call `forward` at a time.
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

  /// Binds forward(holder&, input) to a module, which another place of the same key may have made.
  template <class Holder, class Forward>
  void bind_with(Forward forward) {
    module_type_ = std::type_index(typeid(Holder));
    bind_ = [forward](const std::shared_ptr<void>& module) {
      built_layer made;
      const auto held = std::static_pointer_cast<Holder>(module);
      if constexpr (requires {
                      (*held)->named_parameters();
                      (*held)->named_buffers();
                    }) {
        for (const auto& each : (*held)->named_parameters()) made.tensors.push_back({each.key(), each.value()});
        for (const auto& each : (*held)->named_buffers()) made.tensors.push_back({each.key(), each.value(), true});
      } else {
        for (const at::Tensor& each : (*held)->parameters())
          made.tensors.push_back({std::to_string(made.tensors.size()), each});
      }
      for (const layer_tensor& each : made.tensors) {
        if (each.tensor.requires_grad()) made.trainable += static_cast<std::uint64_t>(each.tensor.numel());
      }
      if constexpr (requires(c10::ScalarType dtype) { (*held)->to(dtype); }) {
        made.cast = [held](c10::ScalarType dtype) { (*held)->to(dtype); };
      }
      if constexpr (requires(c10::Device device) { (*held)->to(device); }) {
        made.move = [held](c10::Device device) { (*held)->to(device); };
      }
      if constexpr (requires(bool on) { (*held)->train(on); }) {
        made.train = [held](bool on) { (*held)->train(on); };
      }
      made.forward = [held, forward](const at::Tensor& input) { return forward(*held, input); };
      return made;
    };
  }

 private:
  friend expected<std::vector<built_layer>> build_layers(const std::vector<layer_spec>& specs, std::size_t begin,
                                                         std::size_t end,
                                                         const std::function<void(std::size_t)>& before);

  explicit layer_spec(std::string type) : type_(std::move(type)) {}

  std::string type_;
  std::optional<std::string> tie_;
  std::type_index module_type_ = std::type_index(typeid(void));
  std::function<std::shared_ptr<void>()> make_;
  std::function<built_layer(const std::shared_ptr<void>&)> bind_;
};

/// DeepSpeed's TiedLayerSpec: all places of one key share one module with one set of weights, also in different stages.
/// The factory of the first place builds it; where stages train, once in each stage that has one of the places, with
/// equal weights (docs/training.md).
class tied_layer_spec : public layer_spec {
 public:
  template <class Build>
  tied_layer_spec(std::string key, std::string type, Build build)
      : layer_spec(std::move(type), std::move(build), std::move(key)) {}

  /// This place calls forward(module, input) instead, for example an embedding used as output projection.
  template <class Build, class Forward>
  tied_layer_spec(std::string key, std::string type, Build build, Forward forward)
      : layer_spec(std::move(type), std::move(build), std::move(key)) {
    this->template bind_with<decltype(build())>(std::move(forward));
  }
};

/// Builds all layers in order, each key once. E0602: a factory threw or returned nothing; names the layer. E0504:
/// places of one key have modules of different types.
expected<std::vector<built_layer>> build_layers(const std::vector<layer_spec>& specs);
/// The same of the layers [begin, end). `before` is called with a layer's index before its factory, unless it is empty;
/// for a key, both are those of its first place, which may lie before `begin`.
expected<std::vector<built_layer>> build_layers(const std::vector<layer_spec>& specs, std::size_t begin,
                                                std::size_t end, const std::function<void(std::size_t)>& before);

/// The first layer with the same key; `index` itself for one that is not tied.
std::size_t first_place(const std::vector<layer_spec>& specs, std::size_t index);

/// "layer 3 (Linear)"
std::string layer_name(std::size_t index, const layer_spec& spec);

}  // namespace troupe
