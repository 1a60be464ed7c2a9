#include "runtime/exported/exported_signature.hpp"

#include <map>

#include "messages/try.hpp"
#include "runtime/exported/tree_names.hpp"

namespace troupe {
namespace {

struct stored_kind {
  std::string name_key;
  std::string what;
  /// Nothing for a constant of the code, which keeps its type.
  std::optional<weight_kind> counts_as = std::nullopt;
};
const std::map<std::string, stored_kind> stored_kinds{
    {"parameter", {"parameter_name", "its parameter ", weight_kind::trainable}},
    {"buffer", {"buffer_name", "its buffer ", weight_kind::buffer}},
    {"tensor_constant", {"tensor_constant_name", "its constant "}},
};

/// What a program writes, by the kind of an output.
const std::map<std::string, std::string> written{{"buffer_mutation", "buffer_name"},
                                                 {"parameter_mutation", "parameter_name"},
                                                 {"user_input_mutation", "user_input_name"}};

/// The call of the whole model in the list of the calls of all modules.
expected<std::optional<json_part>> call_of_model(const json_part& module) {
  for (const json_part& each : TROUPE_TRY(TROUPE_TRY(module.at("module_call_graph")).items())) {
    if (TROUPE_TRY(TROUPE_TRY(each.at("fqn")).text()).empty()) return each.find("signature");
  }
  return std::nullopt;
}

expected<kept_value> add_weight(operator_graph& made, value_names& names, const stored_kind& kind,
                                const json_part& spec, const at::Tensor& weight, bool is_trained) {
  const std::string own = TROUPE_TRY(TROUPE_TRY(spec.at(kind.name_key)).text());
  if (kind.counts_as) {
    const bool is_frozen = *kind.counts_as == weight_kind::trainable && !is_trained;
    made.weights.add(own, weight, is_frozen ? weight_kind::frozen : *kind.counts_as);
  }
  torch::jit::Value* const value = made.graph->insertConstant(weight);
  TROUPE_TRY(names.add(TROUPE_TRY(TROUPE_TRY(spec.at("arg")).at("name")), value));
  name_value(*value, own);
  return kept_value{.value = value, .what = kind.what + own};
}

}  // namespace

expected<exported_signature> exported_signature::read(const json_part& program) {
  const json_part module = TROUPE_TRY(program.at("graph_module"));
  const json_part graph = TROUPE_TRY(module.at("graph"));
  exported_signature made(TROUPE_TRY(graph.at("tensor_values")), TROUPE_TRY(graph.at("sym_int_values")),
                          TROUPE_TRY(size_ranges::read(program)));
  const json_part signature = TROUPE_TRY(module.at("signature"));
  made.inputs_ = TROUPE_TRY(TROUPE_TRY(signature.at("input_specs")).items());
  made.outputs_ = TROUPE_TRY(TROUPE_TRY(signature.at("output_specs")).items());
  const auto call = TROUPE_TRY(call_of_model(module));
  if (!call) return made;
  const auto named_tuples = TROUPE_TRY(module.find("treespec_namedtuple_fields"));
  const auto parameters = TROUPE_TRY(call->find("forward_arg_names"));
  made.input_names_ = TROUPE_TRY(
      names_of_arguments(TROUPE_TRY(call->at("in_spec")),
                         parameters ? TROUPE_TRY(texts_of(*parameters)) : std::vector<std::string>(), named_tuples));
  made.output_names_ = TROUPE_TRY(names_in_tree(TROUPE_TRY(call->at("out_spec")), named_tuples));
  return made;
}

expected<exported_tensor> exported_signature::meta_of(const json_part& name) const {
  return tensor_meta(TROUPE_TRY(tensors_.at(TROUPE_TRY(name.text()))));
}

/// The size that the model was exported with.
expected<std::int64_t> exported_signature::example_of(const json_part& name) const {
  const json_part symbol = TROUPE_TRY(TROUPE_TRY(numbers_.at(TROUPE_TRY(name.text()))).at("as_expr"));
  return TROUPE_TRY(TROUPE_TRY(symbol.at("hint")).at("as_int")).integer();
}

expected<kept_value> exported_signature::add_argument(operator_graph& made, value_names& names,
                                                      const json_part& argument, const std::string& name) {
  const tagged_part part = TROUPE_TRY(argument.tagged());
  const bool is_tensor = part.kind == "as_tensor";
  const bool is_size = part.kind == "as_sym_int" && TROUPE_TRY(part.value.tagged()).kind == "as_name";
  // A constant of the export, which stands wherever it is used.
  if (!is_tensor && !is_size) return kept_value{};
  const json_part own = TROUPE_TRY(name_in(argument));
  graph_input input{.name = name.empty() ? TROUPE_TRY(own.text()) : name};
  torch::jit::Value* const value = made.graph->addInput();
  TROUPE_TRY(names.give(own, value));
  if (is_size) {
    value->setType(c10::IntType::get());
    input.otherwise = TROUPE_TRY(example_of(own));
  } else {
    TROUPE_TRY(meta_of(own));
    input.sizes = TROUPE_TRY(ranges_.of_tensor(TROUPE_TRY(tensors_.at(TROUPE_TRY(own.text())))));
  }
  made.inputs.push_back(input);
  return is_tensor ? kept_value{.value = value, .what = "its input " + input.name} : kept_value{};
}

expected<std::vector<kept_value>> exported_signature::add_inputs(operator_graph& made, value_names& names,
                                                                 exported_weights& weights) {
  std::vector<kept_value> kept;
  std::size_t arguments = 0;
  for (const json_part& each : inputs_) {
    const tagged_part spec = TROUPE_TRY(each.tagged());
    if (spec.kind == "user_input" || spec.kind == "constant_input") {
      const std::size_t position = arguments++;
      if (input_names_ && position >= input_names_->size()) return each.wrong("is no argument of forward");
      if (spec.kind == "constant_input") continue;
      const std::string name = input_names_ ? (*input_names_)[position] : std::string();
      kept_value value = TROUPE_TRY(add_argument(made, names, TROUPE_TRY(spec.value.at("arg")), name));
      if (value.value != nullptr) kept.push_back(std::move(value));
      continue;
    }
    const auto kind = stored_kinds.find(spec.kind);
    if (kind == stored_kinds.end()) {
      return fail(error_code::model_unsupported, each.where(),
                  "the model has an input of the kind " + spec.kind + ", which is not supported",
                  "write the model with tensors and plain operators alone, without custom objects and effects");
    }
    const json_part own = TROUPE_TRY(spec.value.at(kind->second.name_key));
    const exported_tensor meta = TROUPE_TRY(meta_of(TROUPE_TRY(TROUPE_TRY(spec.value.at("arg")).at("name"))));
    const at::Tensor weight = TROUPE_TRY(weights.read(TROUPE_TRY(own.text()), meta));
    kept.push_back(TROUPE_TRY(add_weight(made, names, kind->second, spec.value, weight, meta.requires_grad)));
  }
  return kept;
}

expected<void> exported_signature::add_outputs(operator_graph& made, const value_names& names) {
  std::size_t results = 0;
  for (const json_part& each : outputs_) {
    const tagged_part spec = TROUPE_TRY(each.tagged());
    if (const auto found = written.find(spec.kind); found != written.end()) {
      const std::string name = TROUPE_TRY(TROUPE_TRY(spec.value.at(found->second)).text());
      return fail(error_code::model_unsupported, each.where(), "the model writes " + name + " (" + spec.kind + ")",
                  write_fix);
    }
    if (spec.kind != "user_output") {
      return fail(error_code::model_unsupported, each.where(),
                  "the model has an output of the kind " + spec.kind + ", which is not supported",
                  "export the model for inference, in evaluation mode (model.eval())");
    }
    const std::size_t position = results++;
    if (output_names_ && position >= output_names_->size()) return each.wrong("is no result of forward");
    const std::string name = output_names_ ? (*output_names_)[position] : std::to_string(position);
    const json_part argument = TROUPE_TRY(spec.value.at("arg"));
    const tagged_part result = TROUPE_TRY(argument.tagged());
    if (result.kind == "as_tensor") {
      torch::jit::Value* const value = TROUPE_TRY(names.find(TROUPE_TRY(name_in(argument))));
      if (value->type()->kind() != c10::TypeKind::TensorType) return each.wrong("is no tensor");
      made.graph->registerOutput(value);
    } else if (result.kind.starts_with("as_sym_") && TROUPE_TRY(result.value.tagged()).kind == "as_name") {
      torch::jit::Value* const number = TROUPE_TRY(names.find(TROUPE_TRY(name_in(argument))));
      torch::jit::Value* const tensor = made.graph->insert(c10::prim::NumToTensor, {number});
      tensor->node()->setScope(number->node()->scope());
      made.graph->registerOutput(tensor);
    } else {
      continue;  // None, or a constant
    }
    made.outputs.push_back(name);
  }
  if (!made.outputs.empty()) return {};
  return fail(error_code::model_unsupported, made.file, "the model gives no tensor",
              "let its forward return a tensor, or a tuple, dict or dataclass of tensors");
}

}  // namespace troupe
