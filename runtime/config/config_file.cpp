#include "runtime/config/config_file.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/config/data_table.hpp"
#include "runtime/config/fault_tables.hpp"
#include "runtime/config/toml_excess.hpp"
#include "runtime/os/input_file.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {
namespace {

std::string position(const std::string& file, const toml::source_region& region) {
  return fmt::format("{}:{}:{}", file, region.begin.line, region.begin.column);
}

/// What stands there, for "found ..., expected ...".
std::string found_text(const toml::node& node) {
  std::ostringstream text;
  switch (node.type()) {
    case toml::node_type::string:
      text << "the string \"" << **node.as_string() << '"';
      break;
    case toml::node_type::integer:
      text << "the whole number " << **node.as_integer();
      break;
    case toml::node_type::floating_point:
      text << "the real number " << **node.as_floating_point();
      break;
    case toml::node_type::boolean:
      text << (**node.as_boolean() ? "true" : "false");
      break;
    default:
      text << "a value of type " << node.type();
  }
  return text.str();
}

/// Only what the option's kind takes: TOML's types are not converted, except a whole number to seconds.
std::optional<option_value> value_of(const option& target, const toml::node& node) {
  switch (target.kind) {
    case option_kind::text:
      if (const auto* text = node.as_string()) return **text;
      return std::nullopt;
    case option_kind::count_or_auto:
      if (node.value<std::string>() == "auto") return std::monostate{};
      [[fallthrough]];
    case option_kind::count:
      if (const auto* count = node.as_integer()) return **count;
      return std::nullopt;
    case option_kind::seconds:
      if (const auto* count = node.as_integer()) return static_cast<double>(**count);
      if (const auto* seconds = node.as_floating_point()) return **seconds;
      return std::nullopt;
    case option_kind::toggle:
      if (const auto* toggle = node.as_boolean()) return **toggle;
      return std::nullopt;
    case option_kind::list:
    case option_kind::faults:
      break;
  }
  const auto* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<std::string> names;
  for (const toml::node& item : *array) {
    if (!item.is_string()) return std::nullopt;
    names.push_back(**item.as_string());
  }
  return names;
}

expected<setting> read_setting(const std::string& file, const toml::key& key, const toml::node& node) {
  const option* target = find_option(key.str());
  if (target == nullptr) {
    const std::vector<std::string> known = option_names();
    return fail(error_code::config_unknown_key, position(file, key.source()),
                fmt::format("there is no option \"{}\"", key.str()), suggest_fix(key.str(), known));
  }
  const origin from{origin_kind::file, position(file, node.source())};
  if (target->kind == option_kind::faults && node.is_array()) {
    return read_fault_tables(file, *node.as_array()).and_then([&](written_faults&& faults) {
      return make_setting(*target, std::move(faults.texts), from).map([&](setting made) {
        made.places = std::move(faults.places);
        return made;
      });
    });
  }
  const auto value = value_of(*target, node);
  if (!value) return bad_value(*target, {found_text(node) + ", expected " + expected_text(*target), {}}, from);
  return make_setting(*target, *value, from);
}

}  // namespace

expected<std::vector<setting>> parse_config(std::string_view text, const std::string& name) try {
  if (const auto excess = find_excess(text)) {
    return fail(error_code::config_syntax, fmt::format("{}:{}:{}", name, excess->line, excess->column), excess->cause,
                "write options at the top level; a line is for example: stages = 4");
  }
  const toml::table table = toml::parse(text, name);
  // A table is sorted by key; the first error to report is the first in the file.
  std::map<std::pair<toml::source_index, toml::source_index>, std::pair<const toml::key*, const toml::node*>> entries;
  for (auto&& [key, node] : table) {
    entries.emplace(std::pair(key.source().begin.line, key.source().begin.column), std::pair(&key, &node));
  }
  std::vector<setting> settings;
  for (const auto& [place, entry] : entries) {
    if (const auto* data = entry.first->str() == "data" ? entry.second->as_table() : nullptr) {
      auto described = TROUPE_TRY(read_data_table(name, *data));
      std::ranges::move(described, std::back_inserter(settings));
      continue;
    }
    auto read = TROUPE_TRY(read_setting(name, *entry.first, *entry.second));
    settings.push_back(std::move(read));
  }
  return settings;
} catch (const toml::parse_error& e) {
  return fail(error_code::config_syntax, position(name, e.source()), std::string(e.description()),
              "see https://toml.io for the notation; a line is for example: stages = 4");
}

expected<std::string> read_config_text(const std::string& path, const std::string& kind) {
  auto text = read_small_input(path, limits::config_bytes_max);
  if (!text) {
    return fail(error_code::config_missing, path, text.error().cause, "name a " + kind + " that can be read");
  }
  if (text->size() > limits::config_bytes_max) {
    return fail(error_code::config_syntax, path, fmt::format("is longer than {} bytes", limits::config_bytes_max),
                "name a " + kind + " of options");
  }
  return std::move(*text);
}

expected<std::vector<setting>> read_config(const std::string& path) {
  const std::string text = TROUPE_TRY(read_config_text(path, "TOML file"));
  return parse_config(text, path);
}

}  // namespace troupe
