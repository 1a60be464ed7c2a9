#include <map>

#include <torch/csrc/jit/ir/ir.h>

#include "messages/try.hpp"
#include "runtime/exported/exported_argument.hpp"
#include "runtime/exported/exported_node.hpp"

namespace troupe {
namespace {

using torch::jit::Graph;
using torch::jit::Value;

struct number_operator {
  const char* name;
  std::size_t arguments;
};

const std::map<std::string, number_operator> operators{
    {"add", {"aten::add", 2}},
    {"sub", {"aten::sub", 2}},
    {"mul", {"aten::mul", 2}},
    {"floordiv", {"aten::floordiv", 2}},
    {"mod", {"aten::remainder", 2}},
    {"truediv", {"aten::div", 2}},
    {"pow", {"aten::pow", 2}},
    {"neg", {"aten::neg", 1}},
    {"eq", {"aten::eq", 2}},
    {"ne", {"aten::ne", 2}},
    {"lt", {"aten::lt", 2}},
    {"le", {"aten::le", 2}},
    {"gt", {"aten::gt", 2}},
    {"ge", {"aten::ge", 2}},
    {"and_", {"aten::__and__", 2}},
    {"or_", {"aten::__or__", 2}},
    {"lshift", {"aten::__lshift__", 2}},
    {"rshift", {"aten::__rshift__", 2}},
    {"sym_not", {"aten::__not__", 1}},
    {"sym_max", {"prim::max", 2}},
    {"sym_min", {"prim::min", 2}},
    {"sym_float", {"aten::Float", 1}},
    {"sym_int", {"aten::Int", 1}},
    {"trunc", {"aten::Int", 1}},
    {"sym_sqrt", {"aten::sqrt", 1}},
    {"_sym_sqrt", {"aten::sqrt", 1}},
};

bool is_number(const Value& value) {
  const c10::TypeKind kind = value.type()->kind();
  return kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType || kind == c10::TypeKind::BoolType;
}

}  // namespace

expected<void> add_size_arithmetic(Graph& graph, value_names& names, const json_part& node, const std::string& name) {
  const auto found = operators.find(name);
  if (found == operators.end()) {
    return fail(error_code::model_unsupported, node.where(), "the operator " + name + " on sizes is not supported",
                "compute the size with + - * // and % in place of it");
  }
  std::vector<torch::jit::NamedValue> arguments;
  for (const json_part& each : TROUPE_TRY(TROUPE_TRY(node.at("inputs")).items())) {
    Value* value = TROUPE_TRY(argument_value(graph, names, TROUPE_TRY(each.at("arg")), nullptr));
    if (!is_number(*value)) return each.wrong("is no number");
    arguments.emplace_back(value);
  }
  const auto outputs = TROUPE_TRY(TROUPE_TRY(node.at("outputs")).items());
  if (arguments.size() != found->second.arguments || outputs.size() != 1) {
    return node.wrong("has not as many arguments and outputs as its operator");
  }
  Value* made = graph.insert(c10::Symbol::fromQualString(found->second.name), arguments);
  // TorchScript's power of whole numbers is a real one.
  const bool is_whole = TROUPE_TRY(outputs.front().tagged()).kind == "as_sym_int";
  if (is_whole && made->type()->kind() == c10::TypeKind::FloatType) {
    made = graph.insert(c10::Symbol::aten("Int"), {made});
  }
  return name_output(graph, names, outputs.front(), made);
}

}  // namespace troupe
