#include "runtime/model/chain_graph.hpp"

#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/passes/inliner.h>

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

/// "aten::add (model.py:12)"; for loaded models the place in the original Python source where it is known.
std::string describe(const Node& node) {
  std::string text = node.kind().toQualString();
  if (node.kind() == prim::CallMethod) text += " of ." + node.s(c10::attr::name) + "()";
  torch::jit::SourceRange range = node.sourceRange();
  if (auto original = range.findSourceRangeThatGenerated()) range = *original;
  if (const auto place = range.file_line_col()) {
    text += " (" + std::get<0>(*place) + ":" + std::to_string(std::get<1>(*place)) + ")";
  }
  return text;
}

/// Walks one forward and keeps the first thing that is in the way: an operation that is no call (which a module without
/// children may have), or a problem.
class forward_walk {
 public:
  forward_walk(const torch::jit::Module& module, const std::string& prefix)
      : module_(module), prefix_(prefix), graph_(module.get_method("forward").graph()) {}

  void walk() {
    if (graph_->inputs().size() != 2) {
      return refuse("forward takes " + std::to_string(graph_->inputs().size() - 1) + " inputs instead of one",
                    sequential_fix);
    }
    modules_.emplace(graph_->inputs()[0], place{prefix_, module_});
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
  [[nodiscard]] const std::vector<found_layer>& calls() const { return calls_; }

  [[nodiscard]] tl::unexpected<error> failure(const std::string& where) const {
    if (operation_ && !calls_.empty()) {
      const std::string after =
          before_operation_.empty() ? "before the first layer" : "after layer " + before_operation_;
      return fail(error_code::model_no_chain, where,
                  "the model is no chain of layers: the node " + *operation_ + " in forward, " + after +
                      ", is no call of a child module",
                  wrap_fix);
    }
    return fail(error_code::model_no_chain, where, "the model is no chain of layers: " + problem_->first,
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
    if (child == modules_.end() || node.s(c10::attr::name) != "forward" || child->second.path == prefix_) {
      return refuse("the node " + describe(node) + " in forward is no call of a child module's forward", wrap_fix);
    }
    const auto& [path, module] = child->second;
    if (!called_.insert(path).second) {
      return refuse("forward calls the child " + path + " twice, at the node " + describe(node),
                    "give every place in the nn.Sequential a module of its own");
    }
    // a traced module without operations on its input: nothing goes in, None comes out, which is not used
    const bool passes_through = node.inputs().size() == 1 && !node.output()->hasUses();
    if (!passes_through) {
      if (node.inputs().size() != 2) {
        return refuse("the child " + path + " is called with " + std::to_string(node.inputs().size() - 1) +
                          " arguments instead of one, at the node " + describe(node),
                      sequential_fix);
      }
      if (node.inputs()[1] != current_ && !operation_) return refuse_input(path, node);
      if (!node.output()->type()->isSubtypeOf(*c10::TensorType::get())) {
        return refuse("the child " + path + " gives a " + node.output()->type()->str() + " instead of one tensor",
                      sequential_fix);
      }
      current_ = node.output();
    }
    calls_.push_back({path, module, passes_through});
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

  torch::jit::Module module_;
  std::string prefix_;
  std::shared_ptr<torch::jit::Graph> graph_;
  std::unordered_map<const Value*, place> modules_;
  std::set<std::string> called_;
  std::vector<found_layer> calls_;
  const Value* current_ = nullptr;
  std::optional<std::string> operation_;
  std::string before_operation_;
  std::optional<std::pair<std::string, const char*>> problem_;
};

/// Appends the layers of a child: its own chain if it is one, itself otherwise.
void flatten(const found_layer& child, std::vector<found_layer>& into) {
  if (child.passes_through) return into.push_back(child);
  forward_walk inside(child.module, child.name);
  inside.walk();
  if (inside.mixes() || inside.calls().empty()) return into.push_back(child);
  for (const found_layer& one : inside.calls()) flatten(one, into);
}

}  // namespace

expected<std::vector<found_layer>> find_layers(const torch::jit::Module& module, const std::string& where) {
  if (!module.find_method("forward")) {
    return fail(error_code::model_no_chain, where, "the model has no method forward", sequential_fix);
  }
  forward_walk outside(module, "");
  outside.walk();
  if (outside.mixes()) return outside.failure(where);
  if (outside.calls().empty()) return std::vector{found_layer{"model", module, false}};
  std::vector<found_layer> layers;
  for (const found_layer& child : outside.calls()) flatten(child, layers);
  return layers;
}

std::shared_ptr<torch::jit::Graph> inlined_forward(const torch::jit::Module& module) {
  auto graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  return graph;
}

bool may_write_input(const torch::jit::Module& module) {
  const auto graph = inlined_forward(module);
  const torch::jit::AliasDb aliases(graph);
  return aliases.hasWriters(graph->inputs()[1]);
}

}  // namespace troupe
