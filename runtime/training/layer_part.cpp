#include "runtime/training/layer_part.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/tensor/faithful_copy.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

class layer_part final : public trained_part {
 public:
  layer_part(std::vector<built_layer> built, const std::vector<layer_spec>& specs, layer_range layers)
      : built_(std::move(built)) {
    layers_ = layers;
    for (std::size_t at = 0; at < built_.size(); ++at) {
      names_.push_back(layer_name(layers.begin + at, specs[layers.begin + at]));
      add_tensors(at, specs);
    }
    find_ties();
  }

  [[nodiscard]] std::string name_of(std::size_t layer) const override { return names_.at(layer - layers_.begin); }

  [[nodiscard]] expected<std::vector<at::Tensor>> inputs_of(const payload_ptr& given,
                                                            const std::string& where) const override {
    const std::vector<at::Tensor>& tensors = as_tensors(given).tensors();
    if (tensors.size() == 1) return tensors;
    return fail(error_code::forward_failed, where,
                "its first layer takes one tensor, and it got " + std::to_string(tensors.size()),
                "use data with one input");
  }

  [[nodiscard]] std::vector<std::string> output_names() const override { return {}; }

  void set_training(bool on) override {
    if (std::exchange(is_training_, on) == on) return;
    for (const built_layer& each : built_) {
      if (each.train) each.train(on);
    }
  }

  [[nodiscard]] std::vector<at::Tensor> run(std::size_t layer, std::vector<at::Tensor> inputs,
                                            bool is_shared) override {
    // a layer may write what it gets: the code cannot be seen
    const at::Tensor input = is_shared ? own(inputs.front()) : std::move(inputs.front());
    inputs.clear();
    return {built_.at(layer - layers_.begin).forward(input)};
  }

 private:
  /// A parameter, and the layers of the whole model that use it.
  struct places_of_parameter {
    std::size_t parameter = 0;
    std::set<std::size_t> places = {};
  };

  void add_tensors(std::size_t at, const std::vector<layer_spec>& specs) {
    const std::size_t index = layers_.begin + at;
    const std::size_t first = first_place(specs, index);
    for (const layer_tensor& each : built_[at].tensors) {
      const auto [known, is_new] = places_.try_emplace(each.tensor.unsafeGetTensorImpl());
      places_of_parameter& found = known->second;
      found.places.insert(index);
      if (!is_new) continue;
      for (std::size_t other = 0; specs[index].tie() && other < specs.size(); ++other) {
        if (specs[other].tie() == specs[index].tie()) found.places.insert(other);
      }
      const std::string name = std::to_string(first) + "." + each.name;
      if (first < layers_.begin) copies_.insert(name);
      const bool is_trained = !each.is_buffer && each.tensor.requires_grad();
      found.parameter = is_trained ? parameters_.size() : no_parameter;
      (is_trained ? parameters_ : buffers_).set(name, each.tensor);
    }
  }

  void find_ties() {
    for (const auto& [tensor, found] : places_) {
      if (found.parameter == no_parameter || found.places.size() < 2) continue;
      ties_.push_back(places_in({found.places.begin(), found.places.end()}, layers_.begin, layers_.end));
      ties_.back().parameter = found.parameter;
    }
    std::ranges::sort(ties_, {}, &tied_parameter::parameter);
  }

  /// A copy, through which gradients pass, and which no kernel can tell from the original.
  static at::Tensor own(const at::Tensor& input) {
    const auto address = reinterpret_cast<std::uintptr_t>(input.const_data_ptr());
    const bool is_plain = input.is_non_overlapping_and_dense() && address % limits::payload_alignment == 0;
    return is_plain ? input.clone() : faithful_copy(input);
  }

  static constexpr std::size_t no_parameter = ~std::size_t{0};

  std::vector<built_layer> built_;
  std::vector<std::string> names_;
  std::unordered_map<const c10::TensorImpl*, places_of_parameter> places_;
  bool is_training_ = false;  // as they are built
};

/// Gives the process-wide generator its state back.
class kept_generator {
 public:
  kept_generator() : generator_(at::detail::getDefaultCPUGenerator()), state_(generator_.get_state()) {}
  kept_generator(const kept_generator&) = delete;
  kept_generator& operator=(const kept_generator&) = delete;
  ~kept_generator() { generator_.set_state(state_); }

  void seed(std::uint64_t seed) {
    const std::lock_guard lock(generator_.mutex());
    generator_.set_current_seed(seed);
  }

 private:
  at::Generator generator_;
  at::Tensor state_;
};

bool has_running_statistics(const built_layer& layer) {
  return std::ranges::any_of(layer.tensors, [](const layer_tensor& each) {
    return each.is_buffer && (each.name.ends_with("running_mean") || each.name.ends_with("running_var"));
  });
}

/// Running statistics of one layer in several stages would have to follow the order in which all of them see the
/// micro-batches.
expected<void> check_tied_statistics(const std::vector<built_layer>& built, const std::vector<layer_spec>& specs,
                                     std::size_t begin) {
  const std::size_t end = begin + built.size();
  for (std::size_t inside = begin; inside < end; ++inside) {
    if (!specs[inside].tie() || !has_running_statistics(built[inside - begin])) continue;
    for (std::size_t other = 0; other < specs.size(); ++other) {
      if ((other >= begin && other < end) || specs[other].tie() != specs[inside].tie()) continue;
      return fail(error_code::topology_invalid, layer_name(inside, specs[inside]),
                  "it has running statistics, and is tied by \"" + *specs[inside].tie() + "\" to " +
                      layer_name(other, specs[other]) + ", which is in another stage",
                  "choose a partition that has both layers in one stage, or give each its own statistics by "
                  "layer_spec in place of tied_layer_spec");
    }
  }
  return {};
}

}  // namespace

expected<std::unique_ptr<trained_part>> make_layer_part(const std::vector<layer_spec>& specs, std::size_t begin,
                                                        std::size_t end, std::uint64_t seed) {
  TROUPE_CHECK(begin < end && end <= specs.size(), "a stage has at least one layer");
  std::vector<built_layer> built;
  {
    kept_generator generator;
    built = TROUPE_TRY(build_layers(specs, begin, end, [&](std::size_t index) { generator.seed(seed + index); }));
  }
  TROUPE_TRY(check_tied_statistics(built, specs, begin));
  for (std::size_t at = 0; at < built.size(); ++at) {
    if (built[at].train || built[at].tensors.empty()) continue;
    return fail(error_code::topology_invalid, layer_name(begin + at, specs[begin + at]),
                "it cannot be trained: the module has no train()", "derive it from torch::nn::Module");
  }
  return std::make_unique<layer_part>(std::move(built), specs,
                                      trained_part::layer_range{.begin = begin, .end = end, .of = specs.size()});
}

}  // namespace troupe
