#include "runtime/exported/value_names.hpp"

#include "messages/try.hpp"

namespace troupe {
namespace {

const std::map<std::string, c10::TypeKind> output_types{
    {"as_tensor", c10::TypeKind::TensorType}, {"as_tensors", c10::TypeKind::ListType},
    {"as_sym_int", c10::TypeKind::IntType},   {"as_sym_float", c10::TypeKind::FloatType},
    {"as_sym_bool", c10::TypeKind::BoolType},
};

}  // namespace

expected<void> value_names::add(const json_part& name, torch::jit::Value* value) {
  const std::string text = TROUPE_TRY(name.text());
  if (!values_.emplace(text, value).second) return name.wrong("makes the value " + text + " a second time");
  return {};
}

expected<void> value_names::give(const json_part& name, torch::jit::Value* value) {
  TROUPE_TRY(add(name, value));
  name_value(*value, TROUPE_TRY(name.text()));
  return {};
}

expected<torch::jit::Value*> value_names::find(const json_part& name) const {
  const std::string text = TROUPE_TRY(name.text());
  const auto found = values_.find(text);
  if (found == values_.end()) return name.wrong("names the value " + text + " before it is made");
  return found->second;
}

void name_value(torch::jit::Value& value, const std::string& name) {
  if (name.find_first_not_of("0123456789") != std::string::npos) value.setDebugName(name);
}

expected<json_part> name_in(const json_part& argument) {
  const tagged_part part = TROUPE_TRY(argument.tagged());
  return part.value.at(part.kind.starts_with("as_sym_") ? "as_name" : "name");
}

expected<void> name_output(torch::jit::Graph& graph, value_names& names, const json_part& output,
                           torch::jit::Value* value) {
  const tagged_part part = TROUPE_TRY(output.tagged());
  if (part.kind == "as_none") return {};
  if (part.kind == "as_optional_tensor") {
    if (TROUPE_TRY(part.value.tagged()).kind == "as_none") return {};
    return name_output(graph, names, part.value, value);
  }
  const auto found = output_types.find(part.kind);
  if (found == output_types.end()) return output.wrong("is no kind of output");
  if (found->second != value->type()->kind()) return output.wrong("is not of the type that its operator gives");
  if (part.kind != "as_tensors") return names.give(TROUPE_TRY(name_in(output)), value);
  const auto members = TROUPE_TRY(part.value.items());
  torch::jit::Node* unpacked = graph.insertNode(graph.createListUnpack(value, members.size()));
  for (std::size_t i = 0; i < members.size(); ++i) {
    TROUPE_TRY(names.give(TROUPE_TRY(members[i].at("name")), unpacked->output(i)));
  }
  return {};
}

}  // namespace troupe
