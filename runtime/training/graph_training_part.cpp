#include "runtime/training/graph_training_part.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/ir/constants.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/graph/graph_code.hpp"
#include "runtime/model/graph_values.hpp"
#include "runtime/model/random_code.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "runtime/training/gradient_values.hpp"
#include "runtime/training/operator_gradients.hpp"
#include "runtime/training/shared_layers.hpp"
#include "runtime/training/training_pass.hpp"
#include "runtime/training/weight_inputs.hpp"

namespace troupe {
namespace {

/// One layer as code whose weights are inputs.
struct layer_code {
  graph_part part;
  std::optional<graph_code> code = std::nullopt;
  std::vector<std::size_t> weights = {};
  std::vector<bool> gradients = {};
  bool is_checked = false;
};

class graph_training_part final : public trained_part {
 public:
  graph_training_part(layered_graph_ptr graph, layer_range layers, named_tensors parameters, named_tensors constants,
                      std::vector<tied_parameter> ties, std::set<std::string> copies, std::vector<std::string> absent)
      : graph_(std::move(graph)), absent_(std::move(absent)) {
    layers_ = layers;
    parameters_ = std::move(parameters);
    constants_ = std::move(constants);
    ties_ = std::move(ties);
    copies_ = std::move(copies);
    for (const auto& [name, tensor] : parameters_) handles_.push_back(tensor);
    for (const auto& [name, tensor] : constants_) versions_.push_back(version_of(tensor));
  }

  void add_layer(layer_code layer) { code_.push_back(std::move(layer)); }

  [[nodiscard]] std::string name_of(std::size_t layer) const override {
    return layer_text(layer, graph_->layers().at(layer));
  }

  [[nodiscard]] expected<std::vector<at::Tensor>> inputs_of(const payload_ptr& given,
                                                            const std::string& where) const override {
    if (is_first()) return inputs_by_name(graph_->model().inputs, given, where, absent_);
    const std::vector<at::Tensor>& tensors = as_tensors(given).tensors();
    const std::size_t wanted = code_.front().code->inputs() - code_.front().weights.size();
    if (tensors.size() == wanted) return tensors;
    return fail(error_code::forward_failed, where,
                "this part of the model takes " + std::to_string(wanted) + " tensors, and it got " +
                    std::to_string(tensors.size()),
                "feed the stage from the one before it");
  }

  [[nodiscard]] std::vector<bool> gradients_of(std::size_t layer, [[maybe_unused]] std::size_t inputs) const override {
    return code_.at(layer - layers_.begin).gradients;
  }

  [[nodiscard]] std::vector<std::string> output_names() const override {
    return is_last() ? graph_->model().outputs : std::vector<std::string>{};
  }

  void set_training(bool on) override { is_training_ = on; }

  /// The code copies an input that it writes.
  [[nodiscard]] std::vector<at::Tensor> run(std::size_t layer, std::vector<at::Tensor> inputs,
                                            [[maybe_unused]] bool is_shared) override {
    layer_code& own = code_.at(layer - layers_.begin);
    for (const std::size_t each : own.weights) inputs.push_back(handles_[each]);
    if (!is_training_) {
      training_pass pass({.samples = {0}}, pass_mode::evaluation);  // the mode in the file may be the other one
      pass.enter_layer(layer);
      return own.code->run(std::move(inputs));
    }
    const bool is_first_pass = !own.is_checked;
    if (is_first_pass && at::GradMode::is_enabled()) check(own, layer, inputs);
    std::vector<at::Tensor> outputs = own.code->run(std::move(inputs));
    // once in each later pass, for what only some samples bring about
    if (is_first_pass || layer + 1 == layers_.end) check_constants();
    return outputs;
  }

 private:
  static std::uint32_t version_of(const at::Tensor& tensor) {
    return tensor.is_inference() ? 0 : static_cast<std::uint32_t>(tensor._version());
  }

  /// Constants are not of a stage's state, so that nothing would undo what a step that is done again has written.
  void check_constants() const {
    std::size_t at = 0;
    for (const auto& [name, tensor] : constants_) {
      if (version_of(tensor) == versions_[at++]) continue;
      throw untrainable("the layer writes the model's tensor \"" + name + "\", so that a step that is computed again " +
                            "would begin with another value",
                        "let forward() compute a tensor of its own, and export the model again");
    }
  }

  static void check(layer_code& own, std::size_t layer, const std::vector<at::Tensor>& inputs) {
    const auto found = operator_without_gradient(own.part, inputs);
    if (training_pass* const pass = training_pass::current()) pass->enter_layer(layer);  // its draws do not count
    if (found) {
      throw untrainable("the operator " + *found + " has no gradient",
                        "leave the operator out of the model, or train the layers behind it alone");
    }
    own.is_checked = true;
  }

  layered_graph_ptr graph_;
  std::vector<std::string> absent_;
  std::vector<layer_code> code_;
  std::vector<at::Tensor> handles_;
  std::vector<std::uint32_t> versions_;  ///< of the constants, in their order
  bool is_training_ = false;
};

/// Constants are not of a stage's state, so that nothing would undo what a step that is done again has written.
expected<void> check_statistics(const layered_graph& graph, std::size_t begin, std::size_t end) {
  for (std::size_t layer = begin; layer < end; ++layer) {
    const auto found = find_kept_statistics(graph, layer);
    if (!found) continue;
    return fail(error_code::topology_invalid, graph.model().file + ", " + layer_text(layer, graph.layers()[layer]),
                "the model was exported in training mode, and the layer " + *found,
                "export it in evaluation mode (model.eval()), so that the statistics are fixed, or describe its layers "
                "in a pipeline_module");
  }
  return {};
}

}  // namespace

expected<std::unique_ptr<trained_part>> make_graph_training_part(const layered_graph_ptr& graph, std::size_t begin,
                                                                 std::size_t end,
                                                                 const std::vector<std::string>& absent) {
  const operator_graph& model = graph->model();
  TROUPE_CHECK(begin < end && end <= graph->layers().size(), "a stage has at least one layer");
  if (model.state) {
    return fail(error_code::topology_invalid, model.file,
                "it has a state, which its forward pass writes, so that it cannot be trained",
                "export the model without attributes that forward() changes");
  }
  if (std::none_of(model.weights.begin(), model.weights.end(), is_trained)) {
    return fail(error_code::topology_invalid, model.file, "it has no weights that can be trained",
                "export the module with parameters that require gradients, and not frozen");
  }
  TROUPE_TRY(check_statistics(*graph, begin, end));
  const auto users = users_of_constants(*graph);
  named_tensors parameters;
  named_tensors constants;
  std::vector<tied_parameter> ties;
  std::set<std::string> copies;
  std::unordered_map<const c10::TensorImpl*, std::size_t> positions;
  for (const graph_weight& each : model.weights) {
    const auto* const tensor = each.tensor.unsafeGetTensorImpl();
    const auto found = users.find(tensor);
    if (found == users.end() || positions.contains(tensor)) continue;
    const tied_parameter places = places_in(found->second, begin, end);
    if (places.begin == places.end) continue;
    if (!places.is_owned()) copies.insert(each.name);
    if (!is_trained(each)) {
      constants.set(each.name, each.tensor);
      continue;
    }
    positions.emplace(tensor, parameters.size());
    if (places.places.size() > 1) {
      ties.push_back(places);
      ties.back().parameter = parameters.size();
    }
    at::Tensor leaf = each.tensor.is_inference() ? each.tensor.clone() : each.tensor.detach();
    parameters.set(each.name, leaf.requires_grad_());
  }
  auto made = std::make_unique<graph_training_part>(
      graph, trained_part::layer_range{.begin = begin, .end = end, .of = graph->layers().size()}, std::move(parameters),
      std::move(constants), std::move(ties), std::move(copies), absent);
  const gradient_values values(*model.graph, [&](const at::Tensor& constant) {
    return std::ranges::any_of(
        model.weights, [&](const graph_weight& each) { return is_trained(each) && each.tensor.is_same(constant); });
  });
  for (std::size_t layer = begin; layer < end; ++layer) {
    layer_code own{.part = graph->part(layer, layer + 1)};
    for (const auto* each : graph->crossing(layer)) own.gradients.push_back(values.contains(each));
    own.weights = weights_as_inputs(*own.part.graph, [&](const at::Tensor& constant) -> std::optional<std::size_t> {
      const auto found = positions.find(constant.unsafeGetTensorImpl());
      return found == positions.end() ? std::nullopt : std::optional(found->second);
    });
    own.part.graph->lint();
    own.code.emplace(own.part);
    made->add_layer(std::move(own));
  }
  return made;
}

}  // namespace troupe
