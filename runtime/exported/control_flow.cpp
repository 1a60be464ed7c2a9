#include <limits>

#include "messages/try.hpp"
#include "runtime/exported/exported_argument.hpp"
#include "runtime/exported/exported_node.hpp"
#include "runtime/exported/graph_builder.hpp"

namespace troupe {
namespace {

using torch::jit::Block;
using torch::jit::Node;
using torch::jit::Value;

/// The arguments of a higher-order operator, which have no names.
expected<std::vector<json_part>> arguments_of(const json_part& node, std::size_t least) {
  std::vector<json_part> arguments;
  for (const json_part& each : TROUPE_TRY(TROUPE_TRY(node.at("inputs")).items())) {
    arguments.push_back(TROUPE_TRY(each.at("arg")));
  }
  if (arguments.size() < least) return node.wrong("has not the arguments of its operator");
  return arguments;
}

expected<json_part> graph_in(const json_part& argument) {
  return TROUPE_TRY(argument.at("as_graph")).at("graph");
}

/// The type of a value, of a constant tensor without its sizes.
c10::TypePtr plain_type(const Value* value) {
  return value->type()->kind() == c10::TypeKind::TensorType ? c10::TypePtr(c10::TensorType::get()) : value->type();
}

bool is_of_one_type(const Value* a, const Value* b) {
  return *plain_type(a) == *plain_type(b);
}

}  // namespace

expected<void> graph_builder::add_higher_order(const std::string& name, const json_part& node, value_names& names) {
  if (is_condition_) {
    return fail(error_code::model_unsupported, node.where(),
                "there is control flow (" + name + ") in the condition of a loop, which is not supported",
                "compute the condition with plain operators, or in the body of the loop");
  }
  if (name == "cond") return add_cond(node, names);
  if (name == "while_loop") return add_while_loop(node, names);
  if (name == "wrap_with_set_grad_enabled") return add_wrapped(node, names);
  if (name == "wrap_with_autocast") {
    // The type of device, the type of numbers, whether it is on, whether casts are kept, the graph.
    const auto arguments = TROUPE_TRY(arguments_of(node, 5));
    if (!TROUPE_TRY(TROUPE_TRY(arguments[2].at("as_bool")).truth())) return add_wrapped(node, names);
    return fail(error_code::model_unsupported, node.where(),
                "a part of the model runs under autocast, which is not supported",
                "export it without torch.autocast, and convert what it should compute in another type with .to(dtype)");
  }
  return fail(error_code::model_unsupported, node.where(), "the control flow " + name + " is not supported",
              "write it with torch.cond, torch.while_loop or a plain loop in its place");
}

expected<graph_builder::values> graph_builder::inlined(const json_part& graph, const values& operands) {
  const auto inputs = TROUPE_TRY(TROUPE_TRY(graph.at("inputs")).items());
  if (inputs.size() != operands.size()) return graph.wrong("has not as many inputs as it is given");
  value_names names;
  for (std::size_t i = 0; i < inputs.size(); ++i) TROUPE_TRY(names.add(TROUPE_TRY(name_in(inputs[i])), operands[i]));
  TROUPE_TRY(add_nodes(graph, names));
  values results;
  for (const json_part& each : TROUPE_TRY(TROUPE_TRY(graph.at("outputs")).items())) {
    results.push_back(TROUPE_TRY(argument_value(graph_, names, each, nullptr)));
  }
  return results;
}

expected<void> graph_builder::fill_block(Block* block, const json_part& graph, const values& operands) {
  torch::jit::WithInsertPoint inside(block);
  ++blocks_;
  const values results = TROUPE_TRY(inlined(graph, operands));
  --blocks_;
  for (Value* each : results) block->registerOutput(each);
  return {};
}

expected<Value*> graph_builder::truth_of(const json_part& node, Value* value) {
  const c10::TypeKind kind = value->type()->kind();
  if (kind == c10::TypeKind::BoolType) return value;
  if (kind != c10::TypeKind::TensorType) return node.wrong("has a condition that is no truth value");
  return graph_.insert(c10::aten::Bool, {value});
}

expected<void> graph_builder::name_results(const json_part& node, const values& results, value_names& names) {
  std::size_t next = 0;
  const auto name_next = [&](const json_part& name) -> expected<void> {
    if (next == results.size()) return node.wrong("has more outputs than its graph");
    return names.give(name, results[next++]);
  };
  for (const json_part& each : TROUPE_TRY(TROUPE_TRY(node.at("outputs")).items())) {
    const tagged_part part = TROUPE_TRY(each.tagged());
    if (part.kind == "as_none") {
      ++next;
    } else if (part.kind == "as_tensors") {
      for (const json_part& member : TROUPE_TRY(part.value.items()))
        TROUPE_TRY(name_next(TROUPE_TRY(member.at("name"))));
    } else {
      TROUPE_TRY(name_next(TROUPE_TRY(name_in(each))));
    }
  }
  return {};
}

expected<void> graph_builder::add_cond(const json_part& node, value_names& names) {
  const auto arguments = TROUPE_TRY(arguments_of(node, 4));
  const values operands = TROUPE_TRY(operands_of(arguments[3], names));
  Value* condition = TROUPE_TRY(argument_value(graph_, names, arguments[0], nullptr));
  Node* choice = graph_.create(c10::prim::If, {TROUPE_TRY(truth_of(node, condition))}, 0);
  graph_.insertNode(choice);
  for (const std::size_t branch : {1, 2}) {
    TROUPE_TRY(fill_block(choice->addBlock(), TROUPE_TRY(graph_in(arguments[branch])), operands));
  }
  const auto then = choice->blocks()[0]->outputs();
  const auto otherwise = choice->blocks()[1]->outputs();
  bool is_same = then.size() == otherwise.size();
  for (std::size_t i = 0; is_same && i < then.size(); ++i) is_same = is_of_one_type(then[i], otherwise[i]);
  if (!is_same) return node.wrong("has two branches that do not give values of the same types");
  values results;
  for (const Value* each : then) {
    results.push_back(choice->addOutput()->setType(plain_type(each)));
  }
  return name_results(node, results, names);
}

expected<void> graph_builder::add_while_loop(const json_part& node, value_names& names) {
  const auto arguments = TROUPE_TRY(arguments_of(node, 3));
  const json_part test = TROUPE_TRY(graph_in(arguments[0]));
  const json_part body = TROUPE_TRY(graph_in(arguments[1]));
  const values carried = TROUPE_TRY(operands_of(arguments[2], names));
  const values more = arguments.size() > 3 ? TROUPE_TRY(operands_of(arguments[3], names)) : values();
  const auto goes_on = [&](values operands) -> expected<Value*> {
    operands.insert(operands.end(), more.begin(), more.end());
    is_condition_ = true;
    const values truth = TROUPE_TRY(inlined(test, operands));
    is_condition_ = false;
    if (truth.size() != 1) return node.wrong("has a condition that is no truth value");
    return truth_of(node, truth.front());
  };
  values inputs{graph_.insertConstant(std::numeric_limits<std::int64_t>::max()), TROUPE_TRY(goes_on(carried))};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  Node* loop = graph_.insertNode(graph_.create(c10::prim::Loop, inputs, 0));
  Block* block = loop->addBlock();
  block->addInput()->setType(c10::IntType::get());
  values now;
  for (const Value* each : carried) now.push_back(block->addInput()->setType(plain_type(each)));
  values operands = now;
  operands.insert(operands.end(), more.begin(), more.end());
  {
    torch::jit::WithInsertPoint inside(block);
    ++blocks_;
    const values next = TROUPE_TRY(inlined(body, operands));
    bool is_same = next.size() == now.size();
    for (std::size_t i = 0; is_same && i < next.size(); ++i) is_same = is_of_one_type(next[i], now[i]);
    if (!is_same) return node.wrong("has a body that does not give values of the types that it takes");
    block->registerOutput(TROUPE_TRY(goes_on(next)));
    for (Value* each : next) block->registerOutput(each);
    --blocks_;
  }
  values results;
  for (const Value* each : carried) results.push_back(loop->addOutput()->setType(plain_type(each)));
  return name_results(node, results, names);
}

expected<void> graph_builder::add_wrapped(const json_part& node, value_names& names) {
  const auto arguments = TROUPE_TRY(arguments_of(node, 1));
  std::size_t at = 0;
  while (at < arguments.size() && TROUPE_TRY(arguments[at].tagged()).kind != "as_graph") ++at;
  if (at == arguments.size()) return node.wrong("has no graph");
  values operands;
  for (std::size_t i = at + 1; i < arguments.size(); ++i) {
    operands.push_back(TROUPE_TRY(argument_value(graph_, names, arguments[i], nullptr)));
  }
  return name_results(node, TROUPE_TRY(inlined(TROUPE_TRY(graph_in(arguments[at])), operands)), names);
}

}  // namespace troupe
