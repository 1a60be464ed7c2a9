#include "runtime/graph/flat_outputs.hpp"

#include <algorithm>
#include <optional>

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/passes/lower_tuples.h>

#include "messages/try.hpp"

namespace troupe {
namespace {

using torch::jit::Node;
using torch::jit::Value;
namespace prim = c10::prim;

constexpr auto output_fix =
    "let forward give a tensor, or a tuple, list or dict of tensors that it makes in one expression, such as "
    "{\"logits\": x}";

struct named_value {
  std::string name;
  Value* value;
};

std::string inner_name(const std::string& above, const std::string& name) {
  return above.empty() ? name : above + "." + name;
}

/// The entries of a dict that is filled before its only other use, in the order of their keys' first appearance.
class dict_entries {
 public:
  explicit dict_entries(Node& made) : made_(made) {}

  /// False if it is filled in another way, or by keys that are not known.
  bool find(const Value& dict) {
    for (std::size_t at = 0; at + 1 < made_.inputs().size(); at += 2) {
      if (!put(made_.inputs()[at], made_.inputs()[at + 1])) return false;
    }
    std::vector<Node*> fills;
    for (const torch::jit::Use& use : dict.uses()) {
      if (use.user->kind() == prim::Return) continue;
      const bool fills_here =
          use.user->kind() == c10::aten::_set_item && use.offset == 0 && use.user->owningBlock() == made_.owningBlock();
      if (!fills_here) return false;
      fills.push_back(use.user);
    }
    std::ranges::sort(fills, [](const Node* one, const Node* other) { return one->isBefore(other); });
    return std::ranges::all_of(fills, [this](Node* fill) { return put(fill->input(1), fill->input(2)); });
  }

  std::vector<named_value> entries;

 private:
  bool put(const Value* key, Value* value) {
    const auto known = torch::jit::toIValue(key);
    if (!known || !known->isString()) return false;
    const auto before = std::ranges::find(entries, known->toStringRef(), &named_value::name);
    if (before == entries.end()) {
      entries.push_back({known->toStringRef(), value});
    } else {
      before->value = value;
    }
    return true;
  }

  Node& made_;
};

bool take_apart(const named_value& whole, std::vector<named_value>& into);

bool take_members(const std::vector<named_value>& members, const std::string& above, std::vector<named_value>& into) {
  return std::ranges::all_of(members, [&](const named_value& one) {
    return take_apart({inner_name(above, one.name), one.value}, into);
  });
}

std::vector<named_value> members_of(Node& tuple) {
  std::vector<named_value> members;
  const auto type = tuple.output()->type()->cast<c10::TupleType>();
  const bool has_names = type && type->schema() != nullptr;
  for (std::size_t at = 0; at < tuple.inputs().size(); ++at) {
    const std::string name = has_names ? type->schema()->arguments().at(at).name() : std::to_string(at);
    members.push_back({name, tuple.inputs()[at]});
  }
  return members;
}

bool take_apart(const named_value& whole, std::vector<named_value>& into) {
  Node& made = *whole.value->node();
  if (whole.value->type()->kind() == c10::TypeKind::NoneType) return true;
  if (made.kind() == prim::TupleConstruct || made.kind() == prim::ListConstruct)
    return take_members(members_of(made), whole.name, into);
  if (made.kind() == prim::DictConstruct) {
    dict_entries dict(made);
    return dict.find(*whole.value) && take_members(dict.entries, whole.name, into);
  }
  if (!can_pass(whole.value->type())) return false;
  into.push_back(whole);
  return true;
}

}  // namespace

expected<std::vector<std::string>> flatten_outputs(operator_graph& model) {
  torch::jit::Graph& graph = *model.graph;
  const bool is_hidden_tuple = graph.outputs().size() == 1 &&
                               graph.outputs()[0]->type()->kind() == c10::TypeKind::TupleType &&
                               graph.outputs()[0]->node()->kind() != prim::TupleConstruct;
  if (is_hidden_tuple) {
    const auto type = graph.outputs()[0]->type()->expect<c10::TupleType>();
    const torch::jit::WithInsertPoint end(graph.return_node());
    Node* const unpacked = graph.insertNode(graph.createTupleUnpack(graph.outputs()[0]));
    Node* const again = graph.insertNode(graph.createTuple(unpacked->outputs(), type));
    graph.eraseOutput(0);
    graph.registerOutput(again->output());
  }
  std::vector<named_value> flat;
  const bool is_single = graph.outputs().size() == 1;
  for (std::size_t at = 0; at < graph.outputs().size(); ++at) {
    const named_value whole{is_single ? std::string() : std::to_string(at), graph.outputs()[at]};
    if (take_apart(whole, flat) && !flat.empty()) continue;
    return fail(error_code::model_not_usable, model.file,
                "forward gives a " + whole.value->type()->repr_str() + place_in_source(*whole.value->node()) +
                    ", of which it is not known before a run which tensors it has",
                output_fix);
  }
  while (!graph.outputs().empty()) graph.eraseOutput(graph.outputs().size() - 1);
  std::vector<std::string> names;
  for (const named_value& each : flat) {
    graph.registerOutput(each.value);
    names.push_back(each.name);
  }
  return names;
}

}  // namespace troupe
