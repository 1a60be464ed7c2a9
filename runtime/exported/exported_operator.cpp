#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/runtime/operator.h>

#include "messages/try.hpp"
#include "runtime/exported/exported_argument.hpp"
#include "runtime/exported/exported_node.hpp"
#include "runtime/graph/code_effects.hpp"

namespace troupe {
namespace {

using torch::jit::Graph;
using torch::jit::Node;
using torch::jit::Operator;
using torch::jit::Value;

/// They check what was true of the example, and give nothing.
const std::set<std::string> assertions{"_assert_tensor_metadata.default", "_assert_scalar.default",
                                       "_assert_async.default",           "_assert_async.msg",
                                       "sym_constrain_range.default",     "sym_constrain_range_for_size.default"};

/// The operators on symbolic sizes by the names of those on numbers.
const std::map<std::string, std::string> size_operators{
    {"sym_size", "size"}, {"sym_numel", "numel"}, {"sym_stride", "stride"}, {"sym_storage_offset", "storage_offset"}};

constexpr auto operator_fix =
    "write the model with operators of torch.nn and torch.nn.functional in its place, and export it again";

bool is_plain_name(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

expected<std::shared_ptr<Operator>> find_operator(const json_part& node, const std::string& base,
                                                  const std::string& overload) {
  const std::string wanted = overload == "default" ? std::string() : overload;
  if (is_plain_name(base)) {
    for (const auto& each : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString("aten::" + base))) {
      // The others are TorchScript's own, on Python's lists, texts and files; the number of elements is one as well.
      if ((each->isC10Op() || base == "numel") && each->schema().overload_name() == wanted) return each;
    }
  }
  return fail(error_code::model_unsupported, node.where(),
              "LibTorch has no operator aten::" + base + (wanted.empty() ? "" : "." + wanted), operator_fix);
}

/// The arguments of a node by name.
expected<std::map<std::string, json_part>> given_arguments(const json_part& node) {
  std::map<std::string, json_part> given;
  for (const json_part& each : TROUPE_TRY(TROUPE_TRY(node.at("inputs")).items())) {
    const std::string name = TROUPE_TRY(TROUPE_TRY(each.at("name")).text());
    if (!given.emplace(name, TROUPE_TRY(each.at("arg"))).second) return each.wrong("gives " + name + " twice");
  }
  return given;
}

expected<std::vector<Value*>> values_for(Graph& graph, const value_names& names, const json_part& node,
                                         const c10::FunctionSchema& schema) {
  auto given = TROUPE_TRY(given_arguments(node));
  std::vector<Value*> values;
  for (const c10::Argument& each : schema.arguments()) {
    const auto found = given.find(each.name());
    if (found != given.end()) {
      values.push_back(TROUPE_TRY(argument_value(graph, names, found->second, each.type())));
      given.erase(found);
    } else if (each.default_value()) {
      values.push_back(graph.insertConstant(*each.default_value()));
    } else {
      return node.wrong("lacks the argument " + each.name());
    }
  }
  if (!given.empty()) return node.wrong("has the argument " + given.begin()->first + ", which its operator has not");
  return values;
}

/// Batch norm in training writes its running statistics, and the schema does not say so.
expected<void> check_statistics(const json_part& node, const c10::FunctionSchema& schema,
                                const std::vector<Value*>& values) {
  constexpr std::array modes{"training", "train", "use_input_stats"};
  bool is_training = false;
  bool has_statistics = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string& name = schema.arguments()[i].name();
    const auto value = torch::jit::toIValue(values[i]);
    if (std::ranges::find(modes, name) != modes.end()) is_training = !value || !value->isBool() || value->toBool();
    if (name == "running_mean") has_statistics = !value || !value->isNone();
  }
  if (!is_training || !has_statistics) return {};
  return fail(error_code::model_unsupported, node.where(),
              "the model writes the running statistics of a normalization, as one in training does",
              "export it in evaluation mode: model.eval() before torch.export.export");
}

/// Numbers for tensors are taken by the overload for numbers, as mul.Scalar for mul.Tensor.
expected<void> check_overload(const json_part& node, const Node& made, const c10::FunctionSchema& schema) {
  const Operator* found = made.maybeOperator();
  if (found != nullptr) {
    bool is_same = found->schema().overload_name() == schema.overload_name();
    for (std::size_t i = 0; i < made.inputs().size(); ++i) {
      const bool is_tensor = schema.arguments()[i].type()->kind() == c10::TypeKind::TensorType;
      is_same = is_same || (is_tensor && made.input(i)->type()->kind() != c10::TypeKind::TensorType);
    }
    if (is_same) return {};
  }
  return node.wrong("has arguments that do not fit " + c10::toString(schema));
}

expected<void> name_outputs(Graph& graph, value_names& names, const json_part& node, Node& made) {
  const auto outputs = TROUPE_TRY(TROUPE_TRY(node.at("outputs")).items());
  if (outputs.size() != made.outputs().size()) {
    return node.wrong("has " + std::to_string(outputs.size()) + " outputs, and its operator has " +
                      std::to_string(made.outputs().size()));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) TROUPE_TRY(name_output(graph, names, outputs[i], made.output(i)));
  return {};
}

/// x.item() is a number of a type that shows when it runs; the file says which it is.
expected<void> add_item(Graph& graph, value_names& names, const json_part& node) {
  static const std::map<std::string, c10::Symbol> conversions{
      {"as_sym_int", c10::aten::Int}, {"as_sym_float", c10::aten::Float}, {"as_sym_bool", c10::aten::Bool}};
  const auto given = TROUPE_TRY(given_arguments(node));
  const auto outputs = TROUPE_TRY(TROUPE_TRY(node.at("outputs")).items());
  if (given.size() != 1 || outputs.size() != 1) return node.wrong("has not one argument and one output");
  Value* tensor = TROUPE_TRY(argument_value(graph, names, given.begin()->second, c10::TensorType::get()));
  const auto found = conversions.find(TROUPE_TRY(outputs.front().tagged()).kind);
  const bool is_tensor = tensor->type()->kind() == c10::TypeKind::TensorType;
  if (found == conversions.end() || !is_tensor) return node.wrong("makes no number of a tensor");
  return name_output(graph, names, outputs.front(), graph.insert(found->second, {tensor}));
}

}  // namespace

expected<void> add_operator(Graph& graph, value_names& names, const json_part& node, const std::string& name) {
  if (assertions.contains(name)) return {};
  if (name == "item.default" || name == "_local_scalar_dense.default") return add_item(graph, names, node);
  const std::size_t dot = name.find('.');
  std::string base = name.substr(0, dot);
  if (const auto effect = effect_of_name(base, name_place::member)) {
    return fail(error_code::model_has_effects, node.where(), "the model " + std::string(*effect) + " (" + base + ")",
                "use no model that you do not trust, or export it without this operator");
  }
  if (const auto found = size_operators.find(base); found != size_operators.end()) base = found->second;
  const auto found = TROUPE_TRY(find_operator(node, base, dot == std::string::npos ? "" : name.substr(dot + 1)));
  const c10::FunctionSchema& schema = found->schema();
  const std::vector<Value*> values = TROUPE_TRY(values_for(graph, names, node, schema));
  TROUPE_TRY(check_statistics(node, schema, values));
  Node* made =
      graph.insertNode(graph.create(c10::Symbol::fromQualString(schema.name()), values, schema.returns().size()));
  for (std::size_t i = 0; i < schema.returns().size(); ++i) made->output(i)->setType(schema.returns()[i].type());
  TROUPE_TRY(check_overload(node, *made, schema));
  return name_outputs(graph, names, node, *made);
}

}  // namespace troupe
