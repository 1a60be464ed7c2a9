#include "runtime/architecture/architecture.hpp"

#include "messages/try.hpp"
#include "runtime/architecture/families.hpp"
#include "runtime/architecture/sentence_embedding.hpp"

namespace troupe {
namespace {

const std::map<std::string, named_builder>& named() {
  static const auto all = [] {
    std::map<std::string, named_builder> table;
    add_resnets(table);
    add_efficient_nets(table);
    add_efficient_nets_lite(table);
    add_mobile_nets(table);
    add_vggs(table);
    add_dense_nets(table);
    add_vision_transformers(table);
    return table;
  }();
  return all;
}

const std::map<std::string, configured_builder>& configured() {
  static const auto all = [] {
    std::map<std::string, configured_builder> table;
    add_berts(table);
    add_distilbert(table);
    add_gpt2(table);
    add_llamas(table);
    add_vit(table);
    return table;
  }();
  return all;
}

template <class Table>
std::string names_in(const Table& table) {
  std::string text;
  for (const auto& [name, builder] : table) text += (text.empty() ? "" : ", ") + name;
  return text;
}

expected<named_builder> builder_of(const std::string& name) {
  const auto found = named().find(name);
  if (found != named().end()) return found->second;
  return fail(error_code::architecture_unknown, "--arch " + name, "no such architecture is built in",
              "give one of " + names_in(named()) + "; or export the model from Python as a .pt2 file");
}

}  // namespace

std::vector<std::string> named_architectures() {
  std::vector<std::string> names;
  for (const auto& [name, builder] : named()) names.push_back(name);
  return names;
}

expected<operator_graph> build_named(const std::string& name, const std::string& file, const state_dict& weights,
                                     bool strict) {
  const named_builder build = TROUPE_TRY(builder_of(name));
  weight_reader reader(file, weights);
  network net(file, name, reader);
  build(net);
  TROUPE_TRY(reader.finish(strict));
  return net.finish();
}

expected<operator_graph> structure_of_named(const std::string& name) {
  const named_builder build = TROUPE_TRY(builder_of(name));
  const state_dict none;
  weight_reader reader(name, none);
  network net(name, name, reader);
  build(net);
  return net.finish();
}

expected<operator_graph> build_configured(const json_part& config, const std::string& file, const state_dict& weights,
                                          bool strict, const std::optional<sentence_embedding>& embedding) {
  const auto classes = TROUPE_TRY(texts_of(TROUPE_TRY(config.at("architectures"))));
  const auto found = classes.size() == 1 ? configured().find(classes.front()) : configured().end();
  if (found == configured().end()) {
    return fail(error_code::architecture_unknown, config.where(),
                "architectures: " + (classes.empty() ? "it is empty" : "\"" + classes.front() + "\" is not built in"),
                "built in are " + names_in(configured()) + "; export another model from Python as a .pt2 file");
  }
  config_reader values(config);
  weight_reader reader(file, weights);
  network net(file, found->first, reader);
  values.refuse_any("quantization_config");
  if (values.has("auto_map")) values.refuse("auto_map", "the model has Python code of its own, which may differ");
  found->second(net, values);
  if (embedding && !write_sentence_embedding(net, *embedding)) {
    values.refuse("architectures", found->first + " has no last_hidden_state to make sentence embeddings from");
  }
  TROUPE_TRY(values.finish());
  TROUPE_TRY(reader.finish(strict));
  return net.finish();
}

}  // namespace troupe
