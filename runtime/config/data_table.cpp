#include "runtime/config/data_table.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "runtime/data/data_specification.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {
namespace {

constexpr std::string_view kind_key = "kind";
constexpr std::string_view path_key = "path";
constexpr std::string_view workers_key = "workers";

std::string place_in_file(const std::string& file, const toml::source_region& region) {
  return fmt::format("{}:{}:{}", file, region.begin.line, region.begin.column);
}

tl::unexpected<error> bad_data(const std::string& file, const toml::node& node, std::string_view key, std::string cause,
                               std::string fix) {
  return fail(error_code::config_bad_value, fmt::format("{}: data.{}", place_in_file(file, node.source()), key),
              std::move(cause), std::move(fix));
}

std::string toml_name(std::string_view option) {
  std::string name(option);
  std::ranges::replace(name, '-', '_');
  return name;
}

/// A text, or an array of texts; nothing for another value.
std::optional<std::vector<std::string>> texts_in(const toml::node& node) {
  if (const auto* text = node.as_string()) return std::vector<std::string>{**text};
  const auto* array = node.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<std::string> texts;
  for (const toml::node& item : *array) {
    if (!item.is_string()) return std::nullopt;
    texts.push_back(**item.as_string());
  }
  return texts;
}

std::optional<double> number_in(const toml::node& node) {
  if (const auto* count = node.as_integer()) return static_cast<double>(**count);
  if (const auto* real = node.as_floating_point()) return **real;
  return std::nullopt;
}

std::optional<std::vector<double>> numbers_in(const toml::node& node) {
  std::vector<double> numbers;
  if (const auto* array = node.as_array()) {
    for (const toml::node& item : *array) {
      const auto number = number_in(item);
      if (!number) return std::nullopt;
      numbers.push_back(*number);
    }
    return numbers;
  }
  const auto number = number_in(node);
  if (!number) return std::nullopt;
  return std::vector<double>{*number};
}

std::optional<data_option_value> data_value_of(const data_option& option, const toml::node& node) {
  switch (option.form) {
    case data_value::text:
    case data_value::choice:
      if (const auto* text = node.as_string()) return data_option_value(**text);
      return std::nullopt;
    case data_value::count:
      if (const auto* count = node.as_integer()) return data_option_value(**count);
      return std::nullopt;
    case data_value::numbers:
      if (auto numbers = numbers_in(node)) return data_option_value(std::move(*numbers));
      return std::nullopt;
    case data_value::names:
      if (auto names = texts_in(node)) return data_option_value(std::move(*names));
      return std::nullopt;
    case data_value::toggle:
      if (const auto* toggle = node.as_boolean()) return data_option_value(**toggle);
      return std::nullopt;
  }
  return std::nullopt;
}

std::string toml_example(const data_option& option) {
  const std::string name = toml_name(option.name);
  switch (option.form) {
    case data_value::toggle:
      return name + " = true";
    case data_value::count:
      return fmt::format("{} = {}", name, option.example);
    case data_value::numbers:
      return fmt::format("{} = [{}]", name, option.example);
    case data_value::names: {
      std::string items(option.example);
      for (std::size_t at = 0; (at = items.find(',', at)) != std::string::npos; at += 4) items.replace(at, 1, "\", \"");
      return fmt::format("{} = [\"{}\"]", name, items);
    }
    default:
      return fmt::format("{} = \"{}\"", name, option.example);
  }
}

/// Also where the value is of another type.
expected<void> read_data_option(const std::string& file, const toml::key& key, const toml::node& node,
                                data_specification& into) {
  const data_option* const option =
      key.str().find('-') == std::string_view::npos ? find_data_option(into.kind->options, key.str()) : nullptr;
  if (option == nullptr) {
    std::vector<std::string> known = {std::string(kind_key), std::string(path_key), std::string(workers_key)};
    for (const data_option& each : into.kind->options) known.push_back(toml_name(each.name));
    const std::string others = kinds_with(key.str());
    return fail(error_code::config_unknown_key, place_in_file(file, key.source()),
                fmt::format("data of the kind {} has no option \"{}\"{}", into.kind->name, key.str(),
                            others.empty() ? "" : "; it is one of " + others),
                suggest_fix(key.str(), known));
  }
  auto value = data_value_of(*option, node);
  const std::string example = "write for example " + toml_example(*option);
  if (!value) return bad_data(file, node, key.str(), "expected " + expected_text(*option), example);
  if (const auto fine = check_data_value(*option, *value, "data"); !fine) {
    return bad_data(file, node, key.str(), fine.error().cause, example);
  }
  into.options.set(option->name, std::move(*value));
  return {};
}

expected<const data_kind*> read_data_kind(const std::string& file, const toml::table& table) {
  const toml::node* const node = table.get(kind_key);
  const std::vector<std::string> kinds = data_kind_names();
  if (node == nullptr) {
    return bad_data(file, table, kind_key, "the table [data] says no kind", suggest_fix("", kinds));
  }
  const auto name = node->value<std::string>();
  const auto* kind = std::ranges::find(data_kinds, std::string_view(name.value_or("")), &data_kind::name);
  if (kind != data_kinds.end()) return kind;
  return bad_data(file, *node, kind_key, fmt::format("there is no kind of data \"{}\"", name.value_or("")),
                  suggest_fix(name.value_or(""), kinds));
}

expected<void> read_data_path(const std::string& file, const toml::table& table, data_specification& into) {
  const toml::node* const node = table.get(path_key);
  if (node == nullptr)
    return bad_data(file, table, path_key, "the table [data] says no path", "write for example path = \"data/mnist\"");
  auto paths = texts_in(*node);
  const bool is_good = paths && !paths->empty() && std::ranges::none_of(*paths, &std::string::empty) &&
                       (paths->size() == 1 || into.kind->takes_several_paths);
  if (!is_good) {
    return bad_data(file, *node, path_key,
                    into.kind->takes_several_paths ? "expected a path or an array of paths" : "expected one path",
                    "write it in quotes, as in path = \"data/mnist\"");
  }
  into.paths = std::move(*paths);
  return {};
}

}  // namespace

expected<std::vector<setting>> read_data_table(const std::string& file, const toml::table& table) {
  data_specification data;
  data.kind = TROUPE_TRY(read_data_kind(file, table));
  TROUPE_TRY(read_data_path(file, table, data));
  std::vector<setting> settings;
  for (auto&& [key, node] : table) {
    if (key.str() == kind_key || key.str() == path_key) continue;
    if (key.str() != workers_key) {
      TROUPE_TRY(read_data_option(file, key, node, data));
      continue;
    }
    const option& workers = *find_option("data_workers");
    const auto* count = node.as_integer();
    if (count == nullptr)
      return bad_data(file, node, workers_key, "expected " + expected_text(workers), "write workers = 2");
    setting made = TROUPE_TRY(make_setting(workers, **count, {origin_kind::file, place_in_file(file, node.source())}));
    settings.push_back(std::move(made));
  }
  setting made = TROUPE_TRY(
      make_setting(*find_option("data"), to_string(data), {origin_kind::file, place_in_file(file, table.source())}));
  settings.push_back(std::move(made));
  return settings;
}

}  // namespace troupe
