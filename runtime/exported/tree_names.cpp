#include "runtime/exported/tree_names.hpp"

#include "messages/try.hpp"
#include "runtime/json/json_text.hpp"

namespace troupe {
namespace {

using nlohmann::json;

constexpr std::uint64_t tree_memory_bytes = 8u << 20;
constexpr std::size_t name_bytes_max = 1000;
constexpr std::int64_t tree_version = 1;

/// Keys as names: texts and whole numbers. Empty where the list is not of this length or has other members.
std::vector<std::string> keys_in(const json& list, std::size_t count) {
  std::vector<std::string> keys;
  if (!list.is_array() || list.size() != count) return keys;
  for (const json& each : list) {
    if (!each.is_string() && !each.is_number_integer()) return {};
    keys.push_back(each.is_string() ? each.get<std::string>() : each.dump());
  }
  return keys;
}

class tree_reader {
 public:
  explicit tree_reader(const std::optional<json_part>& named_tuples) : named_tuples_(named_tuples) {}

  expected<void> read(const json_part& node, const std::string& name) {
    const auto children = TROUPE_TRY(TROUPE_TRY(node.at("children_spec")).items());
    if (!TROUPE_TRY(node.find("type"))) {
      names_.push_back(name);
      return {};
    }
    return read_children(node, children, name, TROUPE_TRY(names_of(node, children.size())));
  }

  expected<void> read_children(const json_part& node, const std::vector<json_part>& children, const std::string& name,
                               const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < children.size(); ++i) {
      std::string whole = name.empty() ? name : name + ".";
      whole += i < names.size() ? names[i] : std::to_string(i);
      if (whole.size() > name_bytes_max) return node.wrong("has a name of more than 1000 bytes");
      TROUPE_TRY(read(children[i], whole));
    }
    return {};
  }

  /// Of the children of a container; empty for those that have positions.
  [[nodiscard]] expected<std::vector<std::string>> names_of(const json_part& node, std::size_t count) const {
    const std::string type = TROUPE_TRY(TROUPE_TRY(node.at("type")).text());
    const auto context = TROUPE_TRY(node.find("context"));
    if (!context || count == 0) return std::vector<std::string>();
    const std::string text = TROUPE_TRY(context->text());
    const json keys = TROUPE_TRY(parse_json(text, tree_memory_bytes, node.where(), "the names of a " + type));
    if (type == "collections.namedtuple" && named_tuples_ && keys.is_string()) {
      const auto fields = TROUPE_TRY(named_tuples_->find(keys.get<std::string>()));
      if (fields) return texts_of(TROUPE_TRY(fields->at("field_names")));
    }
    if (keys.is_object() && keys.contains("dict_context")) return keys_in(keys.at("dict_context"), count);
    auto names = keys_in(keys, count);
    // A dataclass has the list of its fields and that of those that are None.
    if (names.empty() && keys.is_array() && !keys.empty()) names = keys_in(keys.at(0), count);
    return names;
  }

  std::vector<std::string> take() { return std::move(names_); }

 private:
  const std::optional<json_part>& named_tuples_;
  std::vector<std::string> names_;
};

expected<json> parsed(const json_part& specification) {
  const std::string text = TROUPE_TRY(specification.text());
  return parse_json(text, tree_memory_bytes, specification.where(), "the structure of the arguments or results");
}

/// [1, {...}], with a version in front.
expected<json_part> root_in(const json& document, const json_part& specification) {
  const json_part whole(document, specification.where(), "the structure of the arguments or results");
  const auto parts = TROUPE_TRY(whole.items());
  if (parts.size() != 2 || TROUPE_TRY(parts[0].integer()) != tree_version) return whole.wrong("is of another version");
  return parts[1];
}

}  // namespace

expected<std::vector<std::string>> names_in_tree(const json_part& specification,
                                                 const std::optional<json_part>& named_tuples) {
  const json document = TROUPE_TRY(parsed(specification));
  tree_reader reader(named_tuples);
  TROUPE_TRY(reader.read(TROUPE_TRY(root_in(document, specification)), ""));
  return reader.take();
}

expected<std::vector<std::string>> names_of_arguments(const json_part& specification,
                                                      const std::vector<std::string>& parameters,
                                                      const std::optional<json_part>& named_tuples) {
  const json document = TROUPE_TRY(parsed(specification));
  const json_part root = TROUPE_TRY(root_in(document, specification));
  const auto both = TROUPE_TRY(TROUPE_TRY(root.at("children_spec")).items());
  if (both.size() != 2) return root.wrong("is no tuple and dict of arguments");
  tree_reader reader(named_tuples);
  const auto positional = TROUPE_TRY(TROUPE_TRY(both[0].at("children_spec")).items());
  TROUPE_TRY(reader.read_children(both[0], positional, "", parameters));
  TROUPE_TRY(reader.read(both[1], ""));
  return reader.take();
}

}  // namespace troupe
