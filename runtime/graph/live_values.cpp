#include "runtime/graph/live_values.hpp"

#include <algorithm>
#include <unordered_set>

#include "runtime/graph/written_memory.hpp"

namespace troupe {
namespace {

using torch::jit::Node;
using torch::jit::Value;
namespace prim = c10::prim;

/// The step that a node is, or that has it inside of a block.
const Node* step_around(const Node* node, const torch::jit::Graph& graph) {
  while (node->owningBlock() != graph.block()) node = node->owningBlock()->owningNode();
  return node;
}

/// TorchScript writes an early return as two results of one node, whether it has returned and what, and a branch on the
/// first that takes the second: there it has a value.
bool is_returned(const Node& branch, const Value& taken) {
  return branch.input()->node() == taken.node();
}

/// The values that a result of a branch or loop, or a value that a loop carries, is taken from.
std::vector<const Value*> sources_of(const Value& value) {
  const Node* node = value.node();
  const std::size_t at = value.offset();
  if (node->kind() == prim::If) {
    const Value* taken = node->blocks()[0]->outputs().at(at);
    const Value* otherwise = node->blocks()[1]->outputs().at(at);
    return is_returned(*node, *taken) ? std::vector{otherwise} : std::vector{taken, otherwise};
  }
  // A loop has a count and a condition in front of what it carries, its block a number and a condition.
  const bool is_carried = node->kind() == prim::Param && node->owningBlock()->owningNode() != nullptr && at > 0;
  const Node* loop = is_carried ? node->owningBlock()->owningNode() : node;
  if (loop->kind() != prim::Loop) return {};
  const std::size_t carried = is_carried ? at - 1 : at;
  return {loop->inputs().at(carried + 2), loop->blocks()[0]->outputs().at(carried + 1)};
}

/// What an early return from a branch or loop leaves out.
bool may_be_uninitialized(const Value& value) {
  std::vector<const Value*> open{&value};
  std::unordered_set<const Value*> seen{&value};
  while (!open.empty()) {
    const Value* one = open.back();
    open.pop_back();
    if (one->node()->kind() == prim::Uninitialized) return true;
    for (const Value* source : sources_of(*one)) {
      if (seen.insert(source).second) open.push_back(source);
    }
  }
  return false;
}

bool writes_list(const Node& user, std::size_t argument) {
  const auto* schema = user.maybeSchema();
  if (schema == nullptr || argument >= schema->arguments().size()) return false;
  const auto* alias = schema->arguments()[argument].alias_info();
  return alias != nullptr && alias->isWrite();
}

}  // namespace

bool is_made_again(const Value& value) {
  const auto kind = value.node()->kind();
  if (kind == prim::Uninitialized) return true;
  if (kind != prim::ListConstruct && kind != prim::TupleConstruct) return false;
  return std::ranges::none_of(value.uses(),
                              [](const torch::jit::Use& use) { return writes_list(*use.user, use.offset); });
}

live_values::live_values(const operator_graph& model) : steps_(steps_of(*model.graph)) {
  objections_.resize(steps_.size() + 1);
  find_ranges(*model.graph);
  object_to_types();
  object_to_state(model);
  object_to_shared_writes(*model.graph);
}

std::vector<Value*> live_values::at(std::size_t place) const {
  std::vector<Value*> crossing;
  for (const range& each : ranges_) {
    if (each.made <= place && place < each.last) crossing.push_back(each.value);
  }
  return crossing;
}

std::size_t live_values::tensors_at(std::size_t place) const {
  return std::ranges::count_if(at(place),
                               [](const Value* value) { return value->type()->isSubtypeOf(*c10::TensorType::get()); });
}

void live_values::find_ranges(torch::jit::Graph& graph) {
  std::unordered_map<const Node*, std::size_t> number;
  for (std::size_t step = 0; step < steps_.size(); ++step) number.emplace(steps_[step], step);
  std::unordered_map<const Value*, std::size_t> needed;
  // The first place that a value does not cross any more. A member of a list that each side makes for itself is needed
  // as long as the list is, so steps are looked at from the last to the first.
  const auto needed_at = [&](const Value* value) {
    std::size_t last = 0;
    for (const torch::jit::Use& use : value->uses()) {
      if (use.user == graph.return_node()) return steps_.size() + 1;
      const Node* step = step_around(use.user, graph);
      std::size_t at = number.at(step) + 1;
      if (step == use.user && step->outputs().size() == 1 && is_made_again(*step->output()))
        at = std::max(at, needed[step->output()]);
      last = std::max(last, at);
    }
    return last;
  };
  for (std::size_t step = steps_.size(); step-- > 0;) {
    for (const Value* value : steps_[step]->outputs()) needed[value] = needed_at(value);
  }
  const auto enter = [&](Value* value, std::size_t made, std::size_t last) {
    if (made < last) ranges_.push_back({value, made, last});
  };
  for (Value* input : graph.inputs()) enter(input, 0, needed_at(input));
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    for (Value* value : steps_[step]->outputs()) {
      if (!is_made_again(*value)) enter(value, step + 1, needed[value]);
    }
  }
}

void live_values::object_to_types() {
  std::size_t place = 1;  // those before have the reason of a value that was made earlier
  for (const range& each : ranges_) {
    const Node& maker = *each.value->node();
    const bool is_missing = may_be_uninitialized(*each.value);
    if (!is_missing && can_pass(each.value->type())) continue;
    const std::string reason = (is_missing ? std::string("a value that one branch or loop does not make")
                                           : "a value of type " + each.value->type()->str()) +
                               " is in use there, made by " + maker.kind().toQualString() + place_in_source(maker);
    for (place = std::max(place, each.made); place < std::min(each.last, steps_.size()); ++place)
      objections_[place] = reason;
  }
}

void live_values::object_to_state(const operator_graph& model) {
  if (!model.state) return;
  for (std::size_t place = 1; place < steps_.size(); ++place)
    objections_[place] = "the model keeps a state, which all of its operators may use";
}

// Two values that share memory would be copied apart by a cut. A later write to one of them would not be seen in the
// other.
void live_values::object_to_shared_writes(torch::jit::Graph& graph) {
  const written_memory memory(graph);
  for (std::size_t step = 0; step < steps_.size(); ++step) {
    if (!memory.writes(step)) continue;
    std::vector<std::ptrdiff_t> more(step + 2);  // written values at each place, against the place before
    for (const range& each : ranges_) {
      if (each.made > step || !memory.may_be_written(each.value, step)) continue;
      ++more[each.made];
      --more[std::min(each.last, step + 1)];
    }
    std::ptrdiff_t written = more[0];
    for (std::size_t place = 1; place <= step; ++place) {
      written += more[place];
      if (written < 2 || objections_[place]) continue;
      objections_[place] = "two values in use there may share memory, and " +
                           std::string(steps_[step]->kind().toQualString()) + place_in_source(*steps_[step]) +
                           " writes to it later";
    }
  }
}

}  // namespace troupe
