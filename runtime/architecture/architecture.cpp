#include "runtime/architecture/architecture.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "messages/try.hpp"
#include "runtime/architecture/families.hpp"
#include "runtime/architecture/sentence_embedding.hpp"
#include "runtime/suggest/suggest.hpp"

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

constexpr auto folder_words = "the folder that has its config.json and its weights: --model FOLDER";

/// Small letters and digits alone: "xlmroberta" of "XLM-Roberta".
std::string plain(std::string_view name) {
  std::string text;
  for (const char each : name) {
    if (std::isalnum(static_cast<unsigned char>(each)) != 0) {
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
    }
  }
  return text;
}

/// What a name begins with, without the size behind it: "resnet" of "resnet21-cifar".
std::string letters_of(std::string_view name) {
  const auto* const end = std::ranges::find_if(name, [](unsigned char each) { return std::isalpha(each) == 0; });
  return plain(name.substr(0, static_cast<std::size_t>(end - name.begin())));
}

std::vector<std::string> that_begin(const std::vector<std::string>& names, const std::string& with) {
  std::vector<std::string> found;
  std::ranges::copy_if(names, std::back_inserter(found),
                       [&](const std::string& each) { return !with.empty() && plain(each).starts_with(with); });
  return found;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& each : names) text += (text.empty() ? "" : ", ") + each;
  return text;
}

template <class Table>
std::vector<std::string> keys_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& [name, builder] : table) names.push_back(name);
  return names;
}

std::string fix_of_name(const std::string& name) {
  const std::vector<std::string> all = keys_of(named());
  std::vector<std::string> alike = that_begin(all, plain(name));
  if (alike.size() < 2) {
    if (const auto near = suggest(name, all)) return "write --arch " + *near;
  }
  const std::string letters = letters_of(name);
  if (alike.empty()) alike = that_begin(all, letters);
  if (alike.empty() && !that_begin(keys_of(configured()), letters).empty()) {
    return std::string("give ") + folder_words + ", without --arch and --weights";
  }
  return "give one of " + listed(alike.empty() ? all : alike) + "; a model of transformers is " + folder_words +
         "; export another one from Python as a .pt2 file";
}

expected<named_builder> builder_of(const std::string& name) {
  const auto found = named().find(name);
  if (found != named().end()) return found->second;
  return fail(error_code::architecture_unknown, "--arch " + name, "no such architecture is built in",
              fix_of_name(name));
}

std::string as_key(const std::string& name) {
  return "\"architectures\": [\"" + name + "\"]";
}

/// Some programs save a configuration without the class.
tl::unexpected<error> no_class(const json_part& config, const std::string& cause) {
  const auto type = config.find("model_type");
  const auto text = type && *type ? (*type)->text() : expected<std::string>(std::string());
  const auto fits = that_begin(keys_of(configured()), plain(text.value_or("")));
  const auto shortest = std::ranges::min_element(fits, {}, &std::string::size);
  return fail(error_code::architecture_unknown, config.where(), cause,
              fits.empty()
                  ? "add the class that the weights were saved from, such as " + as_key("BertModel") +
                        "; built in are " + listed(keys_of(configured()))
                  : "add " + as_key(*shortest) + ", or the class that the weights were saved from, of " + listed(fits));
}

/// The class of the model, which is built in.
expected<std::string> class_of(const json_part& config) {
  const auto key = TROUPE_TRY(config.find("architectures"));
  if (!key) return no_class(config, "it has no key architectures, which names the class of the model");
  const auto classes = TROUPE_TRY(texts_of(*key));
  if (classes.empty()) return no_class(config, "architectures: it is empty, and names no class of the model");
  const auto is_known = [](const std::string& name) { return configured().contains(name); };
  const auto known = std::ranges::find_if(classes, is_known);
  if (known != classes.end() && classes.size() == 1) return *known;
  if (known != classes.end()) {
    return fail(error_code::architecture_unknown, config.where(),
                "architectures: it names " + std::to_string(classes.size()) + " classes, " + listed(classes),
                "leave the one that the weights were saved from, such as " + as_key(*known));
  }
  const std::vector<std::string> all = keys_of(configured());
  const auto near = suggest(classes.front(), all);
  return fail(error_code::architecture_unknown, config.where(),
              "architectures: \"" + classes.front() + "\" is not built in",
              near ? "write " + as_key(*near)
                   : "built in are " + listed(all) + "; export another model from Python as a .pt2 file");
}

}  // namespace

std::vector<std::string> named_architectures() {
  return keys_of(named());
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
  const std::string name = TROUPE_TRY(class_of(config));
  config_reader values(config);
  weight_reader reader(file, weights);
  network net(file, name, reader);
  values.refuse_any("quantization_config");
  if (values.has("auto_map")) values.refuse("auto_map", "the model has Python code of its own, which may differ");
  configured().at(name)(net, values);
  if (embedding && !write_sentence_embedding(net, *embedding)) {
    values.refuse("architectures", name + " has no last_hidden_state to make sentence embeddings from");
  }
  TROUPE_TRY(values.finish());
  TROUPE_TRY(reader.finish(strict));
  return net.finish();
}

}  // namespace troupe
