#include "program/models/layered_model.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <utility>

#include <c10/core/InferenceMode.h>

#include "messages/try.hpp"
#include "runtime/model/chain_summary.hpp"
#include "runtime/model/layer_code.hpp"
#include "runtime/model/layer_stack.hpp"
#include "runtime/model/layers_body.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/model/move_module.hpp"
#include "runtime/model/optimize.hpp"
#include "runtime/model/output_difference.hpp"
#include "runtime/model/probe.hpp"
#include "runtime/model/profile.hpp"
#include "runtime/model/random_code.hpp"
#include "runtime/model/stage_inputs.hpp"
#include "runtime/model/stopped_early.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

class chain_model final : public layered_model {
 public:
  explicit chain_model(layer_chain chain) : chain_(std::move(chain)) {}

  [[nodiscard]] const std::string& name() const noexcept override { return chain_.file; }
  [[nodiscard]] std::vector<layer_weight> weights() const override {
    std::vector<layer_weight> made;
    for (const layer& each : chain_.layers) made.push_back({each.type, each.trainable, 0});
    return made;
  }
  [[nodiscard]] std::vector<at::Tensor> tensors() const override {
    std::vector<at::Tensor> all;
    for (const layer& each : chain_.layers) {
      for (const at::Tensor& one : each.module.parameters()) all.push_back(one);
      for (const at::Tensor& one : each.module.buffers()) all.push_back(one);
    }
    return all;
  }

  [[nodiscard]] expected<void> probe(const at::Tensor& micro_batch, std::uint32_t,
                                     const std::stop_token& stop) const override {
    const auto one = micro_batch.narrow(0, 0, std::min<std::int64_t>(1, micro_batch.size(0)));
    return probe_chain(chain_, one, stop).map([](const auto&) {});
  }
  [[nodiscard]] std::vector<layer_finding> random_code() const override {
    std::vector<layer_finding> found;
    for (const layer& each : chain_.layers) {
      if (each.passes_through) continue;
      if (auto random = find_random(each.module)) found.push_back({each.index, to_string(each), std::move(*random)});
    }
    return found;
  }
  [[nodiscard]] bool is_optimizable() const noexcept override { return true; }
  [[nodiscard]] expected<layer_trial> try_layers(const at::Tensor& sample, bool optimizes,
                                                 std::span<const std::size_t> plain,
                                                 const std::stop_token& stop) override {
    if (optimizes) TROUPE_TRY(prepare(stop));
    const c10::InferenceMode inference;
    layer_trial made;
    at::Tensor value = sample;
    for (std::size_t index = 0; index < chain_.layers.size(); ++index) {
      if (stop.stop_requested()) return stopped_early(chain_.file);
      if (chain_.layers[index].passes_through) continue;
      const bool compares = optimizes && !std::ranges::binary_search(plain, index);
      try {
        value = try_layer(index, value, compares, made);
      } catch (const std::exception&) {
        break;
      }
    }
    return made;
  }
  [[nodiscard]] expected<std::optional<std::string>> compare_stage(std::size_t begin, std::size_t end,
                                                                   const at::Tensor& input) override {
    const auto layers = std::span(chain_.layers).subspan(begin, end - begin);
    if (std::ranges::all_of(layers, &layer::passes_through)) return std::optional<std::string>();
    const std::string where = chain_.file + ", layers " + std::to_string(begin) + " to " + std::to_string(end - 1);
    auto fused = fuse_layers(layers, where);
    if (!fused) return fused.error().cause;
    const c10::InferenceMode inference;
    try {
      at::Tensor plain = input;
      for (layer_code& each : code_of(layers)) plain = each.run(std::move(plain));
      auto difference = difference_from(plain, layer_code(*fused), input);
      if (!difference) fused_.emplace(std::pair(begin, end), std::move(*fused));
      return difference;
    } catch (const std::exception&) {
      return std::optional<std::string>();  // the run reports it
    }
  }
  [[nodiscard]] expected<std::vector<double>> time_layers(const at::Tensor& micro_batch, optimize_mode optimize,
                                                          std::span<const std::size_t> plain, std::uint32_t threads,
                                                          const std::stop_token& stop,
                                                          std::chrono::milliseconds budget) override {
    if (optimize == optimize_mode::none) return profile_layers(chain_, micro_batch, threads, stop, budget);
    TROUPE_TRY(prepare(stop));
    layer_chain mixed = *optimized_;
    for (const std::size_t each : plain) mixed.layers.at(each) = chain_.layers.at(each);
    return profile_layers(mixed, micro_batch, threads, stop, budget);
  }
  [[nodiscard]] expected<std::vector<at::Tensor>> inputs_of(std::span<const std::size_t> boundaries,
                                                            const at::Tensor& micro_batch,
                                                            const std::stop_token& stop) const override {
    return stage_inputs(chain_, boundaries, micro_batch, stop);
  }

  [[nodiscard]] expected<void> prepare(const std::stop_token& stop) override {
    if (optimized_) return {};
    refused_.clear();
    optimized_ = TROUPE_TRY(optimize_what_can_be(chain_, stop, refused_));
    return {};
  }
  [[nodiscard]] expected<void> optimize(std::size_t begin, std::size_t end, std::span<const std::size_t> plain,
                                        const std::stop_token& stop) override {
    if (std::exchange(is_optimized_, true)) return {};
    const auto part_of = [&](layer_chain& chain) { return std::span(chain.layers).subspan(begin, end - begin); };
    const auto part = part_of(chain_);
    if (!optimized_) {
      auto made = TROUPE_TRY(optimize_layers({chain_.file, {part.begin(), part.end()}}, stop, plain));
      std::ranges::move(made.layers, part.begin());
      return {};
    }
    for (layer& each : part_of(*optimized_)) {
      if (!std::ranges::binary_search(plain, each.index)) chain_.layers[each.index] = std::move(each);
    }
    optimized_.reset();
    return {};
  }
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make_body(std::size_t begin, std::size_t end,
                                                                const part_options& options) const override {
    const bool is_on_cpu = options.device.is_cpu();
    const bool is_done = is_on_cpu && options.optimize == optimize_mode::layer;
    layers_body_options how{.stage = options.stage,
                            .threads = options.threads,
                            .optimize = is_done ? optimize_mode::none : options.optimize,
                            .warm_up_input = {},
                            .plain = options.plain};
    if (options.warm_up.defined()) how.warm_up_input = options.warm_up.to(options.device);
    const auto fused = fused_.find({begin, end});
    if (is_on_cpu && fused != fused_.end()) how.fused = fused->second;
    auto made =
        TROUPE_TRY(is_on_cpu ? layers_body::make(chain_, begin, end, std::move(how))
                             : layers_body::make(part_on(options.device, begin, end), 0, end - begin, std::move(how)));
    return std::shared_ptr<stage_body>{std::move(made)};
  }

 private:
  [[nodiscard]] layer_chain part_on(c10::Device device, std::size_t begin, std::size_t end) const {
    const auto first = chain_.layers.begin();
    return move_layers(
        {chain_.file, {first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end)}}, device);
  }

  /// What the layer gives, and notes its findings. Throws what its plain form throws.
  at::Tensor try_layer(std::size_t index, const at::Tensor& input, bool compares, layer_trial& into) const {
    const layer& one = chain_.layers[index];
    layer_code plain(one);
    at::Tensor first = faithful_copy(plain.run(input));  // the layer may give what it keeps, and writes again
    if (!are_same_bits(first, plain.run(input))) {
      into.unrepeatable.push_back({index, to_string(one), "gave other bits when it got the same input a second time"});
      return first;
    }
    if (!compares) return first;
    const auto refused = std::ranges::find(refused_, index, &refused_layer::index);
    if (refused != refused_.end()) {
      into.differing.push_back({index, to_string(one), "it cannot be frozen: " + refused->why});
      return first;
    }
    at::Tensor given;
    const auto difference = difference_from(first, layer_code(optimized_->layers[index]), input, &given);
    if (!difference) return given;
    into.differing.push_back({index, to_string(one), *difference});
    return first;
  }

  static std::optional<std::string> difference_from(const at::Tensor& plain, layer_code optimized,
                                                    const at::Tensor& input, at::Tensor* made = nullptr) {
    try {
      const at::Tensor given = optimized.run(input);
      if (made != nullptr) *made = given;
      return difference_of(given, plain);
    } catch (const std::exception& caught) {
      return "it fails: " + libtorch_message(caught);
    }
  }

  layer_chain chain_;
  /// All layers, until optimize().
  std::optional<layer_chain> optimized_;
  /// Those layers that stayed plain.
  std::vector<refused_layer> refused_;
  /// What compare_stage() found to be good, by its layers.
  std::map<std::pair<std::size_t, std::size_t>, torch::jit::Module> fused_;
  bool is_optimized_ = false;
};

/// Layers that were built from their descriptions. They run as they are.
class built_model final : public layered_model {
 public:
  built_model(const std::vector<layer_spec>& specs, std::vector<built_layer> built, std::string name)
      : name_(std::move(name)) {
    for (std::size_t index = 0; index < built.size(); ++index) {
      weights_.push_back({specs[index].type(), built[index].trainable, 0});
      layers_.push_back({layer_name(index, specs[index]), std::move(built[index])});
    }
  }

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::vector<layer_weight> weights() const override { return weights_; }
  [[nodiscard]] std::vector<at::Tensor> tensors() const override {
    std::vector<at::Tensor> all;
    for (const auto& each : layers_) all.insert(all.end(), each.layer.tensors.begin(), each.layer.tensors.end());
    return all;
  }

  [[nodiscard]] expected<void> probe(const at::Tensor& micro_batch, std::uint32_t threads,
                                     const std::stop_token&) const override {
    layer_stack whole(layers_, "sample", threads);
    whole.on_start();
    return output_of(whole, micro_batch).map([](const at::Tensor&) {});
  }
  /// What code of C++ does cannot be seen.
  [[nodiscard]] std::vector<layer_finding> random_code() const override { return {}; }
  [[nodiscard]] bool is_optimizable() const noexcept override { return false; }
  [[nodiscard]] expected<layer_trial> try_layers(const at::Tensor& sample, bool, std::span<const std::size_t>,
                                                 const std::stop_token& stop) override {
    const c10::InferenceMode inference;
    layer_trial made;
    at::Tensor value = sample;
    for (std::size_t index = 0; index < layers_.size(); ++index) {
      if (stop.stop_requested()) return stopped_early(name_);
      const layer_stack::named_layer& each = layers_[index];
      try {
        const at::Tensor first = faithful_copy(each.layer.forward(faithful_copy(value)));
        if (!are_same_bits(first, each.layer.forward(faithful_copy(value)))) {
          made.unrepeatable.push_back({index, each.name, "gave other bits when it got the same input a second time"});
        }
        value = first;
      } catch (const std::exception&) {
        break;
      }
    }
    return made;
  }
  [[nodiscard]] expected<std::optional<std::string>> compare_stage(std::size_t, std::size_t,
                                                                   const at::Tensor&) override {
    return std::optional<std::string>();
  }
  [[nodiscard]] expected<std::vector<double>> time_layers(const at::Tensor& micro_batch, optimize_mode,
                                                          std::span<const std::size_t>, std::uint32_t threads,
                                                          const std::stop_token& stop,
                                                          std::chrono::milliseconds budget) override {
    const auto make_steps = [this] {
      std::vector<timed_step> steps;
      for (const auto& each : layers_) {
        // a layer may write its input
        steps.push_back({each.name, [&each](const at::Tensor& input) { return each.layer.forward(input.clone()); }});
      }
      return steps;
    };
    return profile_steps(name_, make_steps, micro_batch, threads, stop, budget);
  }
  [[nodiscard]] expected<std::vector<at::Tensor>> inputs_of(std::span<const std::size_t> boundaries,
                                                            const at::Tensor& micro_batch,
                                                            const std::stop_token& stop) const override {
    std::vector<at::Tensor> inputs = {micro_batch};
    for (std::size_t part = 0; part + 2 < boundaries.size(); ++part) {
      if (stop.stop_requested()) return stopped_early(name_);
      layer_stack stage(layers_between(boundaries[part], boundaries[part + 1]), "sample", 1);
      auto output = TROUPE_TRY(output_of(stage, inputs.back()));
      inputs.push_back(std::move(output));
    }
    return inputs;
  }

  [[nodiscard]] expected<void> prepare(const std::stop_token&) override { return {}; }
  [[nodiscard]] expected<void> optimize(std::size_t, std::size_t, std::span<const std::size_t>,
                                        const std::stop_token&) override {
    return {};
  }
  [[nodiscard]] expected<std::shared_ptr<stage_body>> make_body(std::size_t begin, std::size_t end,
                                                                const part_options& options) const override {
    for (std::size_t index = begin; index < end; ++index) {
      TROUPE_TRY(move(layers_[index], options.device));
    }
    return std::make_shared<layer_stack>(layers_between(begin, end), "stage " + std::to_string(options.stage),
                                         options.threads);
  }

 private:
  [[nodiscard]] std::vector<layer_stack::named_layer> layers_between(std::size_t begin, std::size_t end) const {
    return {layers_.begin() + static_cast<std::ptrdiff_t>(begin), layers_.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  /// In place: all that share the weights see them move.
  static expected<void> move(const layer_stack::named_layer& one, c10::Device device) {
    const std::vector<at::Tensor>& tensors = one.layer.tensors;
    if (tensors.empty() || tensors.front().device() == device) return {};
    if (!tensors.front().device().is_cpu()) {
      return fail(error_code::topology_invalid, one.name,
                  "its weights are on " + tensors.front().device().str() +
                      ", and another stage or replica wants them on " + device.str(),
                  "give all stages that share weights one device, or worker processes");
    }
    if (!one.layer.move) {
      return fail(error_code::topology_invalid, one.name, "its weights cannot be moved: the module has no to()",
                  "leave the device out");
    }
    return moved(one, device);
  }

  static expected<void> moved(const layer_stack::named_layer& one, c10::Device device) try {
    one.layer.move(device);
    return {};
  } catch (const std::exception& caught) {
    return fail(error_code::topology_invalid, one.name,
                "its weights cannot be moved to " + device.str() + ": " + libtorch_message(caught),
                "leave the device out, or give the model as TorchScript");
  }

  static expected<at::Tensor> output_of(layer_stack& layers, const at::Tensor& micro_batch) {
    activation input;
    input.tensors = make_tensors(micro_batch);
    return layers.forward(input).map([](const payload_ptr& made) { return as_tensors(made).single(); });
  }

  std::string name_;
  std::vector<layer_weight> weights_;
  std::vector<layer_stack::named_layer> layers_;
};

}  // namespace

layered_model_ptr make_layered(layer_chain chain) {
  return std::make_shared<chain_model>(std::move(chain));
}

expected<layered_model_ptr> make_layered(const std::vector<layer_spec>& specs, std::string name,
                                         std::optional<c10::ScalarType> dtype) {
  auto built = TROUPE_TRY(build_layers(specs));
  for (std::size_t index = 0; dtype && index < built.size(); ++index) {
    const built_layer& each = built[index];
    if (each.cast) each.cast(*dtype);
    if (each.cast || each.tensors.empty()) continue;
    return fail(error_code::topology_invalid, layer_name(index, specs[index]),
                "its weights cannot be cast: the module has no to()", "leave the dtype out");
  }
  return layered_model_ptr(std::make_shared<built_model>(specs, std::move(built), std::move(name)));
}

expected<layer_chain> cast_layers(layer_chain chain, c10::ScalarType dtype) {
  for (layer& each : chain.layers) {
    if (has_quantized_weights(each.module)) {
      return fail(error_code::flags_contradict, "dtype",
                  chain.file + ", " + to_string(each) + ": it is quantized, and its weights cannot be cast",
                  "leave the dtype out");
    }
    each.module = cast_to(each.module, dtype);
    count_bytes(each);
  }
  return chain;
}

layer_chain move_layers(layer_chain chain, c10::Device device) {
  for (layer& each : chain.layers) each.module = moved(each.module, device);
  return chain;
}

}  // namespace troupe
