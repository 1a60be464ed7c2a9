#include "runtime/model/code_layers.hpp"

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/graph/module_scope.hpp"
#include "runtime/model/libtorch_error.hpp"

namespace troupe {
namespace {

struct code_layer : torch::CustomClassHolder {
  std::string name;  ///< "layer 3 (Linear)"
  built_layer layer;
};

at::Tensor run_code_layer(const at::Tensor& input, const c10::intrusive_ptr<code_layer>& layer) {
  try {
    return layer->layer.forward(input);
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    throw std::runtime_error(current_exception_text());
  }
}

const auto registered_class = torch::class_<code_layer>("troupe", "CodeLayer");

// It may write what it gets, or give it back: the code cannot be seen.
TORCH_LIBRARY_FRAGMENT(troupe, library) {
  library.def(
      "code_layer(Tensor(a!) x, __torch__.torch.classes.troupe.CodeLayer layer) -> Tensor(a!)",
      [](const at::Tensor& x, const c10::intrusive_ptr<code_layer>& layer) { return run_code_layer(x, layer); });
}

c10::intrusive_ptr<code_layer> layer_in(const torch::jit::Node& step) {
  if (step.kind() != c10::Symbol::fromQualString("troupe::code_layer")) return nullptr;
  return torch::jit::toIValue(step.inputs()[1])->toCustomClass<code_layer>();
}

expected<void> move(const code_layer& one, c10::Device device) {
  const std::vector<layer_tensor>& tensors = one.layer.tensors;
  if (tensors.empty() || tensors.front().tensor.device() == device) return {};
  if (!tensors.front().tensor.device().is_cpu()) {
    return fail(error_code::topology_invalid, one.name,
                "its weights are on " + tensors.front().tensor.device().str() +
                    ", and another stage or replica wants them on " + device.str(),
                "give all stages that share weights one device, or worker processes");
  }
  if (!one.layer.move) {
    return fail(error_code::topology_invalid, one.name, "its weights cannot be moved: the module has no to()",
                "leave the device out");
  }
  try {
    one.layer.move(device);
    return {};
  } catch (const std::exception& caught) {
    return fail(error_code::topology_invalid, one.name,
                "its weights cannot be moved to " + device.str() + ": " + libtorch_message(caught),
                "leave the device out, or give the model as TorchScript");
  }
}

expected<void> cast(const std::vector<built_layer>& built, const std::vector<layer_spec>& specs,
                    c10::ScalarType dtype) {
  for (std::size_t index = 0; index < built.size(); ++index) {
    if (built[index].cast) {
      built[index].cast(dtype);
    } else if (!built[index].tensors.empty()) {
      return fail(error_code::topology_invalid, layer_name(index, specs[index]),
                  "its weights cannot be cast: the module has no to()", "leave the dtype out");
    }
  }
  return {};
}

weight_kind kind_of(const layer_tensor& tensor) {
  if (tensor.is_buffer) return weight_kind::buffer;
  return tensor.tensor.requires_grad() ? weight_kind::trainable : weight_kind::frozen;
}

}  // namespace

bool is_code_layer(const c10::IValue& value) {
  return value.isCustomClass() && value.type() == c10::getCustomClassType<c10::intrusive_ptr<code_layer>>();
}

expected<operator_graph> graph_of_layers(const std::vector<layer_spec>& specs, std::string name,
                                         std::optional<c10::ScalarType> dtype) {
  auto built = TROUPE_TRY(build_layers(specs));
  if (dtype) TROUPE_TRY(cast(built, specs, *dtype));
  operator_graph made{.file = std::move(name),
                      .graph = std::make_shared<torch::jit::Graph>(),
                      .inputs = {{.name = "input"}},
                      .outputs = {""}};
  torch::jit::Graph& graph = *made.graph;
  const auto root = scope_inside(c10::make_intrusive<torch::jit::Scope>(), {"", "layers"});
  torch::jit::Value* value = graph.addInput()->setType(c10::TensorType::get());
  for (std::size_t index = 0; index < built.size(); ++index) {
    auto layer = c10::make_intrusive<code_layer>();
    layer->name = layer_name(index, specs[index]);
    layer->layer = std::move(built[index]);
    for (const layer_tensor& each : layer->layer.tensors)
      made.weights.add(std::to_string(index) + "." + each.name, each.tensor, kind_of(each));
    torch::jit::Value* const held = graph.insertConstant(c10::IValue(layer));
    torch::jit::Node* const step =
        graph.insertNode(graph.create(c10::Symbol::fromQualString("troupe::code_layer"), {value, held}));
    step->setScope(scope_inside(root, {specs[index].type(), specs[index].type()}));
    value = step->output()->setType(c10::TensorType::get());
  }
  graph.registerOutput(value);
  return made;
}

expected<void> move_code_layers(torch::jit::Graph& graph, c10::Device device) {
  for (const torch::jit::Node* step : graph.nodes()) {
    if (const auto layer = layer_in(*step)) TROUPE_TRY(move(*layer, device));
  }
  return {};
}

bool has_code_layers(const operator_graph& model) {
  return std::ranges::any_of(model.graph->nodes(), [](const torch::jit::Node* step) { return layer_in(*step); });
}

expected<void> write_code_layers(const operator_graph& model, const state_dict& values) {
  const at::NoGradGuard no_grad;
  std::unordered_map<std::string, const at::Tensor*> by_name;
  for (const named_tensor& each : values) by_name.emplace(each.name, &each.tensor);
  for (const graph_weight& each : model.weights) {
    const auto found = by_name.find(each.name);
    if (model.weights.find(each.tensor)->name != each.name || found == by_name.end()) continue;  // tied
    try {
      at::Tensor(each.tensor).copy_(*found->second);
    } catch (const std::exception& caught) {
      return fail(error_code::weights_do_not_fit, model.file, each.name + ": " + libtorch_message(caught),
                  "give weights of the same sizes");
    }
  }
  return {};
}

std::optional<std::uint64_t> trainable_of_code_layer(const torch::jit::Node& step) {
  const auto layer = layer_in(step);
  return layer ? std::optional(layer->layer.trainable) : std::nullopt;
}

}  // namespace troupe
