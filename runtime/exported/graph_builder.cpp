#include "runtime/exported/graph_builder.hpp"

#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/exported/exported_node.hpp"
#include "runtime/graph/operator_graph.hpp"

namespace troupe {
namespace {

/// What follows `start` in a text that begins with it; empty for others.
std::string after(const std::string& text, std::string_view start) {
  return text.starts_with(start) ? text.substr(start.size()) : std::string();
}

expected<std::string> text_or_nothing(const json_part& node, std::string_view key) {
  const auto found = TROUPE_TRY(node.find(key));
  if (!found) return std::string();
  return found->text();
}

/// Where an operator was made in Python. One of control flow has no place of its own, but those in its graphs have.
expected<std::string> trace_of(const json_part& node) {
  std::string trace = TROUPE_TRY(text_or_nothing(TROUPE_TRY(node.at("metadata")), "stack_trace"));
  if (!trace.empty()) return trace;
  for (const json_part& each : TROUPE_TRY(TROUPE_TRY(node.at("inputs")).items())) {
    const auto inner = TROUPE_TRY(TROUPE_TRY(each.at("arg")).find("as_graph"));
    if (!inner) continue;
    const auto nodes = TROUPE_TRY(TROUPE_TRY(TROUPE_TRY(inner->at("graph")).at("nodes")).items());
    if (!nodes.empty()) return text_or_nothing(TROUPE_TRY(nodes.front().at("metadata")), "stack_trace");
  }
  return trace;
}

/// " (model.py:12)"
std::string place_of(torch::jit::Graph& graph, const torch::jit::SourceRange& range) {
  torch::jit::Node* const node = graph.create(c10::prim::Constant, 0);
  node->setSourceRange(range);
  std::string place = place_in_source(*node);
  node->destroy();
  return place;
}

}  // namespace

expected<void> graph_builder::add_nodes(const json_part& graph, value_names& names) {
  for (const json_part& each : TROUPE_TRY(TROUPE_TRY(graph.at("nodes")).items())) TROUPE_TRY(add_node(each, names));
  return {};
}

expected<void> graph_builder::add_node(const json_part& node, value_names& names) {
  if (++nodes_ > graph_nodes_max) {
    return fail(error_code::model_beyond_limits, node.where(),
                "the model has more than " + std::to_string(graph_nodes_max) + " operators",
                "export a model that does not call its modules so often");
  }
  const std::string target = TROUPE_TRY(TROUPE_TRY(node.at("target")).text());
  const std::string name = TROUPE_TRY(text_or_nothing(node, "name"));
  const std::string stack = TROUPE_TRY(text_or_nothing(TROUPE_TRY(node.at("metadata")), "nn_module_stack"));
  const torch::jit::SourceRange range = lines_.range_of(TROUPE_TRY(trace_of(node)));
  torch::jit::WithCurrentScope scope(graph_, blocks_ == 0 ? calls_.enter(stack) : graph_.current_scope());
  torch::jit::Node* const before = graph_.insertPoint()->prev();
  expected<void> done = [&]() -> expected<void> {
    try {
      return add_target(target, node, names);
    } catch (const std::exception& caught) {
      return node.wrong("is refused by LibTorch: " + exception_text(caught));
    }
  }();
  if (!done) {
    error& found = done.error();
    // One of a node inside of this one has its place already.
    if (found.where == node.where()) found.where += ", node " + name + " (" + target + ")" + place_of(graph_, range);
    return done;
  }
  for (torch::jit::Node* each = before->next(); each != graph_.insertPoint(); each = each->next()) {
    if (!each->sourceRange().source()) each->setSourceRange(range);
  }
  return {};
}

expected<void> graph_builder::add_target(const std::string& target, const json_part& node, value_names& names) {
  if (const std::string name = after(target, "torch.ops.aten."); !name.empty()) {
    return add_operator(graph_, names, node, name);
  }
  if (const std::string name = after(target, "torch.ops.higher_order."); !name.empty()) {
    return add_higher_order(name, node, names);
  }
  for (const char* start : {"_operator.", "math.", "torch.sym_"}) {
    const std::string name = after(target, start);
    if (name.empty()) continue;
    return add_size_arithmetic(graph_, names, node, start == std::string_view("torch.sym_") ? "sym_" + name : name);
  }
  return fail(error_code::model_unsupported, node.where(),
              "the operator " + target + " is none of PyTorch's own (torch.ops.aten), and what it does is not known",
              "write the model with PyTorch's own operators in its place, and export it again");
}

expected<graph_builder::values> graph_builder::operands_of(const json_part& list, const value_names& names) {
  const tagged_part part = TROUPE_TRY(list.tagged());
  values operands;
  for (const json_part& each : TROUPE_TRY(part.value.items())) {
    if (part.kind == "as_tensors") {
      operands.push_back(TROUPE_TRY(names.find(TROUPE_TRY(each.at("name")))));
    } else if (part.kind == "as_ints") {
      operands.push_back(graph_.insertConstant(TROUPE_TRY(each.integer())));
    } else if (part.kind == "as_sym_ints") {
      const tagged_part size = TROUPE_TRY(each.tagged());
      operands.push_back(size.kind == "as_name" ? TROUPE_TRY(names.find(size.value))
                                                : graph_.insertConstant(TROUPE_TRY(size.value.integer())));
    } else {
      return list.wrong("is no list of tensors or sizes");
    }
  }
  return operands;
}

}  // namespace troupe
