#include "runtime/model/lower_module.hpp"

#include <map>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/graph_executor.h>

#include "messages/try.hpp"
#include "runtime/graph/bind_inputs.hpp"
#include "runtime/graph/flat_outputs.hpp"
#include "runtime/graph/module_scope.hpp"

namespace troupe {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;
namespace prim = c10::prim;

constexpr auto form_fix =
    "let forward take tensors and give a tensor, or a tuple, list or dict of tensors; or wrap the model in a module "
    "whose forward does";

/// Writes out all calls, and puts constants in the place of attributes.
class lowering {
 public:
  lowering(const torch::jit::Module& module, operator_graph& into) : into_(into), graph_(*into.graph) {
    note_weights(module);
    modules_.emplace(graph_.inputs().front(), place{"", module});
    root_ = scope_inside(c10::make_intrusive<torch::jit::Scope>(), {"", module.type()->name()->name()});
  }

  /// False if there are too many nodes.
  bool run() {
    put_into(*graph_.block(), root_);
    if (!write_out(*graph_.block())) return false;
    find_written(*graph_.block());
    put_constants(*graph_.block());
    return true;
  }

 private:
  struct place {
    std::string path;
    torch::jit::Module module;
  };

  void put_into(Block& block, const torch::jit::ScopePtr& scope) {
    for (Node* node : block.nodes()) put_into(*node, scope);
  }
  void put_into(Node& node, const torch::jit::ScopePtr& scope) {
    node.setScope(scope);
    ++nodes_;
    for (Block* inner : node.blocks()) put_into(*inner, scope);
  }

  bool write_out(Block& block) {
    for (Node* node = *block.nodes().begin(); node != block.return_node();) {
      Node* const before = node->prev();
      Node* const next = node->next();
      if (node->kind() == prim::GetAttr) note_module(*node);
      for (Block* inner : node->blocks()) {
        if (!write_out(*inner)) return false;
      }
      const bool is_call = node->kind() == prim::CallMethod || node->kind() == prim::CallFunction;
      node = is_call && write_out_call(*node, *next) ? before->next() : next;
      if (nodes_ > graph_nodes_max) return false;
    }
    return true;
  }

  void note_module(Node& node) {
    const auto owner = modules_.find(node.input());
    if (owner == modules_.end()) return;
    const std::string& name = node.s(c10::attr::name);
    const c10::IValue value = owner->second.module.attr(name);
    if (!value.isModule()) return;
    const std::string& path = owner->second.path;
    modules_.emplace(node.output(), place{path.empty() ? name : path + "." + name, value.toModule()});
  }

  /// Nodes of the callee come in the place of the call, in front of `next`; false for a call that stays.
  bool write_out_call(Node& call, Node& next) {
    torch::jit::GraphFunction* callee = nullptr;
    torch::jit::ScopePtr scope = call.scope();
    Node* const before = call.prev();
    if (call.kind() == prim::CallFunction) {
      const auto type = call.input(0)->type()->cast<c10::FunctionType>();
      callee = type ? torch::jit::tryToGraphFunction(*type->function()) : nullptr;
      if (callee == nullptr) return false;
      call.removeInput(0);
    } else if (const auto owner = modules_.find(call.input(0)); owner != modules_.end()) {
      const auto& [path, module] = owner->second;
      callee = torch::jit::tryToGraphFunction(module.get_method(call.s(c10::attr::name)).function());
      if (path != call_of(*scope).path) scope = scope_inside(scope, {path, module.type()->name()->name()});
    } else if (const auto type = call.input(0)->type()->cast<c10::ClassType>()) {
      callee = torch::jit::tryToGraphFunction(type->getMethod(call.s(c10::attr::name)));
    }
    if (callee == nullptr) return false;
    // LibTorch's inlineCallTo() would leave pointers to functions in the nodes, which the module takes with it
    const auto copy = callee->graph()->copy();
    const torch::jit::WithInsertPoint here(&call);
    const std::vector<Value*> results = torch::jit::insertGraph(graph_, *copy, call.inputs());
    for (std::size_t at = 0; at < results.size(); ++at) call.outputs()[at]->replaceAllUsesWith(results[at]);
    call.destroy();
    for (Node* node = before->next(); node != &next; node = node->next()) put_into(*node, scope);
    return true;
  }

  void find_written(Block& block) {
    for (Node* node : block.nodes()) {
      if (node->kind() == prim::SetAttr) written_.insert(node->s(c10::attr::name));
      for (Block* inner : node->blocks()) find_written(*inner);
    }
  }

  void put_constants(Block& block) {
    for (Node* node : block.nodes()) {
      for (Block* inner : node->blocks()) put_constants(*inner);
      if (node->kind() != prim::GetAttr || modules_.contains(node->output())) continue;
      const auto owner = modules_.find(node->input());
      const std::string& name = node->s(c10::attr::name);
      if (owner == modules_.end() || written_.contains(name)) continue;
      if (Value* const constant = constant_of(owner->second.module, name)) node->output()->replaceAllUsesWith(constant);
    }
  }

  /// One value for each attribute, so that alias analysis sees that a write to it in one place is read in another. Null
  /// if it cannot be a constant.
  Value* constant_of(const torch::jit::Module& module, const std::string& name) {
    const auto [known, is_new] = constants_.try_emplace({module._ivalue().get(), name}, nullptr);
    if (is_new) {
      const torch::jit::WithInsertPoint begin(*graph_.nodes().begin());
      known->second = torch::jit::tryInsertConstant(graph_, value_of(module, name)).value_or(nullptr);
    }
    return known->second;
  }

  /// Tensors are detached, as constants must be, each of them once, so that tied weights stay one tensor.
  c10::IValue value_of(const torch::jit::Module& module, const std::string& name) {
    const c10::IValue value = module.attr(name);
    check_type(module, name, value);
    if (value.isTensorList()) {  // the weights of an LSTM
      c10::List<at::Tensor> all;
      for (const at::Tensor& each : value.toTensorList()) all.push_back(detached(each));
      return all;
    }
    // packed weights of quantized layers; as a constant such an object does not own the code of its class
    if (value.isCustomClass()) return value.toObject()->copy_to_weak_compilation_ref();
    return value.isTensor() && value.toTensor().defined() ? detached(value.toTensor()) : value;
  }

  /// LibTorch puts into an attribute what the file has, and its passes believe the type in the code.
  static void check_type(const torch::jit::Module& module, const std::string& name, const c10::IValue& value) {
    const bool has_plain_type = !value.isObject() && !value.isCustomClass() && !value.isEnum();
    const c10::TypePtr& wanted = module.type()->getAttribute(name);
    if (!has_plain_type || value.type()->isSubtypeOf(*wanted)) return;
    throw std::runtime_error("its attribute " + name + " is a " + value.type()->repr_str() + ", and its code says " +
                             wanted->repr_str());
  }

  at::Tensor detached(const at::Tensor& tensor) {
    at::Tensor& made = detached_[tensor.unsafeGetTensorImpl()];
    if (made.defined()) return made;
    return made = tensor.detach();
  }

  void note_weights(const torch::jit::Module& module) {
    for (const auto& named : module.named_modules()) {
      const torch::jit::Module& each = named.value;
      const std::string& path = named.name;
      const auto object = each._ivalue();
      for (std::size_t slot = 0; slot < object->slots().size(); ++slot) {
        const c10::IValue& value = object->getSlot(slot);
        const bool is_parameter = each.type()->is_parameter(slot);
        if (!value.isTensor() || !value.toTensor().defined() || !(is_parameter || each.type()->is_buffer(slot)))
          continue;
        const std::string& name = each.type()->getAttributeName(slot);
        const weight_kind trained = value.toTensor().requires_grad() ? weight_kind::trainable : weight_kind::frozen;
        into_.weights.add(path.empty() ? name : path + "." + name, detached(value.toTensor()),
                          is_parameter ? trained : weight_kind::buffer);
      }
    }
  }

  operator_graph& into_;
  torch::jit::Graph& graph_;
  torch::jit::ScopePtr root_;
  std::unordered_map<const Value*, place> modules_;
  std::set<std::string> written_;
  std::map<std::pair<const void*, std::string>, Value*> constants_;
  std::unordered_map<const c10::TensorImpl*, at::Tensor> detached_;
  std::uint64_t nodes_ = 0;
};

bool is_tensor_or_optional(const c10::TypePtr& type) {
  if (type->isSubtypeOf(*c10::TensorType::get())) return true;
  const auto optional = type->cast<c10::OptionalType>();
  return optional && optional->getElementType()->isSubtypeOf(*c10::TensorType::get());
}

expected<void> name_inputs(const c10::FunctionSchema& schema, operator_graph& into) {
  const auto& arguments = schema.arguments();
  for (std::size_t at = 1; at < arguments.size(); ++at) {
    const c10::Argument& one = arguments[at];
    const bool is_tensor = is_tensor_or_optional(one.type());
    if (!is_tensor && !one.default_value()) {
      return fail(error_code::model_not_usable, into.file,
                  "forward takes " + one.name() + ", a " + one.type()->repr_str() + " without a default value",
                  form_fix);
    }
    into.inputs.push_back({.name = one.name(), .otherwise = one.default_value()});
  }
  return {};
}

}  // namespace

expected<operator_graph> lower_module(const torch::jit::Module& module, std::string name) {
  const auto forward = module.find_method("forward");
  if (!forward) {
    return fail(error_code::model_not_usable, std::move(name), "the model has no method forward", form_fix);
  }
  operator_graph made{.file = std::move(name), .graph = forward->graph()->copy()};
  TROUPE_TRY(name_inputs(forward->function().getSchema(), made));
  if (!lowering(module, made).run()) {
    return fail(error_code::model_beyond_limits, made.file,
                "with all calls written out, its code has more than " + std::to_string(graph_nodes_max) + " operators",
                "export a model that does not call its modules so often");
  }
  simplify(*made.graph);
  made.outputs = TROUPE_TRY(flatten_outputs(made));
  simplify(*made.graph);
  if (made.graph->inputs().front()->hasUses()) {
    made.state = module._ivalue();
  } else {
    made.graph->eraseInput(0);
  }
  return made;
}

}  // namespace troupe
