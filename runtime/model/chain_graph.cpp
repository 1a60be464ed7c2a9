#include "runtime/model/chain_graph.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/inliner.h>

#include "runtime/graph/operator_graph.hpp"

namespace troupe {
namespace {

using torch::jit::Node;
using torch::jit::Value;
namespace prim = c10::prim;

constexpr auto wrap_fix =
    "wrap the operation in a module of its own inside the nn.Sequential; keep a skip connection within one module; or "
    "export nn.Sequential(model), which runs the model as one layer";
constexpr auto sequential_fix =
    "make the model an nn.Sequential whose modules each take one tensor and give one tensor";
constexpr auto inputs_fix =
    "give every input but the first a default value, in torch.jit.script's form of the model; or make the model an "
    "nn.Sequential whose modules each take one tensor and give one tensor";

/// One call of a module in a forward: of any method, with one tensor and perhaps constants after it.
struct child_call {
  std::string name;
  torch::jit::Module module;
  std::string method = "forward";
  /// The arguments after the first.
  std::vector<c10::IValue> constants = {};
  bool passes_through = false;
};

/// The call as a module whose forward takes the tensor alone. The weights stay those of the called module.
found_layer as_layer(const child_call& call) {
  if (call.passes_through || (call.method == "forward" && call.constants.empty()))
    return {call.name, call.module, call.passes_through};
  torch::jit::Module made(call.module.type()->name()->name());
  made.register_module("called", call.module);
  const auto& arguments = call.module.get_method(call.method).function().getSchema().arguments();
  std::string given = "x";
  for (std::size_t index = 0; index < call.constants.size(); ++index) {
    const std::string name = "constant_" + std::to_string(index);
    made.register_attribute(name, arguments.at(index + 2).type(), call.constants[index]);
    given += ", self." + name;
  }
  made.define("def forward(self, x):\n  return self.called." + call.method + "(" + given + ")\n");
  made.eval();
  return {call.name, made, false};
}

/// The default values of a method's arguments after the first tensor; nothing if one has none.
std::optional<std::vector<c10::IValue>> defaults_of(const torch::jit::Module& module, const std::string& method) {
  std::vector<c10::IValue> defaults;
  const auto& arguments = module.get_method(method).function().getSchema().arguments();
  for (std::size_t index = 2; index < arguments.size(); ++index) {
    const auto& value = arguments[index].default_value();
    if (!value) return std::nullopt;
    defaults.push_back(*value);
  }
  return defaults;
}

/// "aten::add (model.py:12)"; for loaded models the place in the original Python source where it is known.
std::string describe(const Node& node) {
  std::string text = node.kind().toQualString();
  if (node.kind() == prim::CallMethod) text += " of ." + node.s(c10::attr::name) + "()";
  return text + place_in_source(node);
}

/// Walks one forward (or the method that is called in its place) and keeps the first thing that is in the way: an
/// operation that is no call (which a module without children may have), or a problem.
class forward_walk {
 public:
  explicit forward_walk(const child_call& called)
      : called_(called), prefix_(called.name), graph_(called.module.get_method(called.method).graph()) {}

  void walk() {
    const std::size_t inputs = graph_->inputs().size();
    if (inputs != 2 + called_.constants.size()) {
      return refuse("forward takes " + std::to_string(inputs - 1) + " inputs instead of one" +
                        (inputs > 2 ? ", and not all after the first have a default value" : ""),
                    inputs > 2 ? inputs_fix : sequential_fix);
    }
    for (std::size_t index = 2; index < inputs; ++index)
      constants_.emplace(graph_->inputs()[index], called_.constants[index - 2]);
    modules_.emplace(graph_->inputs()[0], place{prefix_, called_.module});
    current_ = graph_->inputs()[1];
    for (const Node* node : graph_->nodes()) {
      if (node->kind() == prim::GetAttr) {
        get_attribute(*node);
      } else if (node->kind() == prim::CallMethod) {
        call(*node);
      } else if (node->kind() != prim::Constant && !operation_ && !problem_) {
        operation_ = describe(*node);
        before_operation_ = last_name();
      }
    }
    check_return();
  }

  [[nodiscard]] bool mixes() const { return problem_.has_value() || (operation_ && !calls_.empty()); }
  [[nodiscard]] const std::vector<child_call>& calls() const { return calls_; }

  [[nodiscard]] tl::unexpected<error> failure(const std::string& where) const {
    if (operation_ && !calls_.empty()) {
      const std::string after =
          before_operation_.empty() ? "before the first layer" : "after layer " + before_operation_;
      return fail(error_code::model_not_usable, where,
                  "the model is no chain of layers: the node " + *operation_ + " in forward, " + after +
                      ", is no call of a child module",
                  wrap_fix);
    }
    return fail(error_code::model_not_usable, where, "the model is no chain of layers: " + problem_->first,
                problem_->second);
  }

 private:
  struct place {
    std::string path;
    torch::jit::Module module;
  };

  void refuse(std::string cause, const char* fix) {
    if (!problem_) problem_.emplace(std::move(cause), fix);
  }

  [[nodiscard]] std::string last_name() const { return calls_.empty() ? std::string{} : calls_.back().name; }

  void get_attribute(const Node& node) {
    const auto owner = modules_.find(node.inputs()[0]);
    if (owner == modules_.end()) return;
    const std::string& name = node.s(c10::attr::name);
    const c10::IValue value = owner->second.module.attr(name);
    if (!value.isModule()) return;
    const std::string& path = owner->second.path;
    modules_.emplace(node.output(), place{path.empty() ? name : path + "." + name, value.toModule()});
  }

  void call(const Node& node) {
    const auto child = modules_.find(node.inputs()[0]);
    if (child == modules_.end() || child->second.path == prefix_) {
      return refuse("the node " + describe(node) + " in forward is no call of a child module", wrap_fix);
    }
    const auto& [path, module] = child->second;
    child_call made{.name = path, .module = module, .method = node.s(c10::attr::name)};
    // a traced module without operations on its input: nothing goes in, None comes out, which is not used
    made.passes_through = node.inputs().size() == 1 && !node.output()->hasUses();
    if (!made.passes_through) {
      if (!take_constants(node, made)) {
        return refuse("the child " + path + " is called with " + std::to_string(node.inputs().size() - 1) +
                          " arguments instead of one and constants, at the node " + describe(node),
                      sequential_fix);
      }
      if (node.inputs()[1] != current_ && !operation_) return refuse_input(path, node);
      if (!node.output()->type()->isSubtypeOf(*c10::TensorType::get())) {
        return refuse("the child " + path + " gives a " + node.output()->type()->str() + " instead of one tensor",
                      sequential_fix);
      }
      current_ = node.output();
    }
    calls_.push_back(std::move(made));
  }

  /// What the call has after its tensor; false if it has no tensor, or something that is not known before a run.
  [[nodiscard]] bool take_constants(const Node& node, child_call& into) const {
    if (node.inputs().size() < 2) return false;
    for (std::size_t index = 2; index < node.inputs().size(); ++index) {
      const Value* const given = node.inputs()[index];
      if (const auto known = constants_.find(given); known != constants_.end()) {
        into.constants.push_back(known->second);
      } else if (const auto constant = torch::jit::toIValue(given)) {
        into.constants.push_back(*constant);
      } else {
        return false;
      }
    }
    return true;
  }

  void refuse_input(const std::string& path, const Node& node) {
    refuse("the child " + path + ", called at the node " + describe(node) +
               ", does not take the output of the layer before it" +
               (calls_.empty() ? std::string{} : " (" + last_name() + ")"),
           wrap_fix);
  }

  void check_return() {
    if (graph_->outputs().size() != 1 || !graph_->outputs()[0]->type()->isSubtypeOf(*c10::TensorType::get())) {
      const std::string type = graph_->outputs().empty() ? "nothing" : "a " + graph_->outputs()[0]->type()->str();
      return refuse("forward gives " + type + " instead of one tensor", sequential_fix);
    }
    if (!operation_ && graph_->outputs()[0] != current_) {
      refuse("forward does not give the output of its last layer (" + last_name() + ")", wrap_fix);
    }
  }

  child_call called_;
  std::string prefix_;
  std::shared_ptr<torch::jit::Graph> graph_;
  std::unordered_map<const Value*, place> modules_;
  std::unordered_map<const Value*, c10::IValue> constants_;
  std::vector<child_call> calls_;
  const Value* current_ = nullptr;
  std::optional<std::string> operation_;
  std::string before_operation_;
  std::optional<std::pair<std::string, const char*>> problem_;
};

/// Appends the layers of a child: its own chain if it is one, itself otherwise.
void flatten(const child_call& child, std::vector<found_layer>& into) {
  if (child.passes_through) return into.push_back(as_layer(child));
  forward_walk inside(child);
  inside.walk();
  if (inside.mixes() || inside.calls().empty()) return into.push_back(as_layer(child));
  for (const child_call& one : inside.calls()) flatten(one, into);
}

}  // namespace

expected<std::vector<found_layer>> find_layers(const torch::jit::Module& module, const std::string& where) {
  if (!module.find_method("forward")) {
    return fail(error_code::model_not_usable, where, "the model has no method forward", sequential_fix);
  }
  child_call whole{.name = "", .module = module};
  if (auto defaults = defaults_of(module, "forward")) whole.constants = std::move(*defaults);
  forward_walk outside(whole);
  outside.walk();
  if (outside.mixes()) return outside.failure(where);
  if (outside.calls().empty()) {
    whole.name = "model";
    return std::vector{as_layer(whole)};
  }
  std::vector<found_layer> layers;
  for (const child_call& child : outside.calls()) flatten(child, layers);
  return layers;
}

std::shared_ptr<torch::jit::Graph> inlined_forward(const torch::jit::Module& module) {
  auto graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  return graph;
}

namespace {

/// Operators that give back their input itself where there is nothing to do, though their schema tells of a new tensor.
constexpr std::array<std::string_view, 7> giving_back = {"dropout",     "feature_dropout", "alpha_dropout", "type_as",
                                                         "_cast_Float", "_cast_Double",    "_cast_Half"};

/// So that a write to their output is seen as one to their input.
void look_through(torch::jit::Block& block) {
  for (torch::jit::Node* node : block.nodes()) {
    for (torch::jit::Block* inner : node->blocks()) look_through(*inner);
    const bool gives_back =
        node->kind().is_aten() && std::ranges::find(giving_back, node->kind().toUnqualString()) != giving_back.end();
    if (gives_back) node->output()->replaceAllUsesWith(node->input(0));
  }
}

}  // namespace

bool may_write_input(const torch::jit::Module& module) {
  const auto graph = inlined_forward(module);
  look_through(*graph->block());
  const torch::jit::AliasDb aliases(graph);
  return aliases.hasWriters(graph->inputs()[1]);
}

}  // namespace troupe
