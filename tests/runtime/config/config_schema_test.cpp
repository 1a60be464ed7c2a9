// Goal: the schemas know exactly the options that there are, as the table has them. Method: each property against its
// row, in both directions; names, patterns and keys of faults against what the parser says of them.
#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/config/config_file.hpp"
#include "runtime/config/option_table.hpp"
#include "runtime/config/value.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/fault/fault_table.hpp"
#include "runtime/metric/metric_table.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

ordered_json read_schema(const std::string& name) {
  std::ifstream file(testing::source_dir() / "docs/schema" / name);
  return ordered_json::parse(file);
}

std::set<std::string> keys_of(const ordered_json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

std::set<std::string> option_name_set() {
  const auto names = option_names();
  return {names.begin(), names.end()};
}

/// A property of a file's schema as the row alone would have it; names and patterns of texts are not in it.
ordered_json property_of(const option& row) {
  ordered_json made = {{"description", row.help}};
  const auto limited = [&](ordered_json type) {
    type["minimum"] = row.minimum;
    type["maximum"] = row.maximum;
    return type;
  };
  const option_value value = default_value(row);
  switch (row.kind) {
    case option_kind::text:
      if (const auto& text = std::get<std::string>(value); !text.empty()) made["default"] = text;
      break;
    case option_kind::count:
      made.update(limited({{"type", "integer"}}));
      if (const auto* count = std::get_if<std::int64_t>(&value)) made["default"] = *count;
      break;
    case option_kind::count_or_auto:
      made["anyOf"] = {{{"const", "auto"}}, limited({{"type", "integer"}})};
      made["default"] = "auto";
      break;
    case option_kind::seconds:
      made.update(limited({{"type", "number"}}));
      if (const auto* seconds = std::get_if<double>(&value)) made["default"] = *seconds;
      break;
    case option_kind::toggle:
      made["type"] = "boolean";
      made["default"] = std::get<bool>(value);
      break;
    case option_kind::list:
      made["type"] = "array";
      made["default"] = std::get<std::vector<std::string>>(value);
      break;
    case option_kind::faults:
      made["type"] = "array";
      break;
  }
  return made;
}

TEST(config_schema, has_every_option_and_no_other) {
  const ordered_json schema = read_schema("config.schema.json");
  EXPECT_EQ(keys_of(schema["properties"]), option_name_set());
  EXPECT_EQ(schema["additionalProperties"], false);
}

TEST(config_schema, says_of_each_option_what_the_table_says) {
  const ordered_json properties = read_schema("config.schema.json")["properties"];
  for (const option& row : all_options()) {
    const ordered_json wanted = property_of(row);
    ASSERT_TRUE(properties.contains(row.name))
        << fmt::format("add to docs/schema/config.schema.json: \"{}\": {}", row.name, wanted.dump());
    const ordered_json& property = properties[std::string(row.name)];
    for (const auto& [key, value] : wanted.items()) {
      EXPECT_EQ(property.value(key, ordered_json()), value) << row.name << ", " << key;
    }
  }
}

/// The names that the schema lists, also those in a choice.
std::vector<std::string> names_in(const ordered_json& property) {
  std::vector<std::string> names;
  if (property.contains("enum")) names = property["enum"].get<std::vector<std::string>>();
  for (const ordered_json& each : property.value("anyOf", ordered_json::array())) {
    for (const std::string& name : names_in(each)) names.push_back(name);
  }
  return names;
}

/// Those that an error about an unknown name lists.
std::set<std::string> names_listed(std::string fix) {
  const std::string begin = "use one of: ";
  std::set<std::string> names;
  if (!fix.starts_with(begin)) return names;
  fix = fix.substr(begin.size()) + ", ";
  for (std::size_t at = 0; at < fix.size();) {
    const std::size_t end = fix.find(", ", at);
    names.insert(fix.substr(at, end - at));
    at = end + 2;
  }
  return names;
}

constexpr auto strange_name = "q_zz_q_zz_q";

TEST(config_schema, lists_the_names_that_the_parser_takes) {
  const ordered_json properties = read_schema("config.schema.json")["properties"];
  std::size_t lists = 0;
  for (const option& row : all_options()) {
    if (row.kind != option_kind::text) continue;
    const ordered_json& property = properties[std::string(row.name)];
    const std::vector<std::string> names = names_in(property);
    for (const std::string& name : names) EXPECT_FALSE(check_value(row, name)) << row.name << " = " << name;
    if (names.empty() && !property.contains("pattern")) {
      EXPECT_FALSE(check_value(row, strange_name)) << row.name << " takes some texts only; list them or give a pattern";
      continue;
    }
    const auto problem = check_value(row, strange_name);
    ASSERT_TRUE(problem) << row.name;
    if (names.empty()) continue;
    ++lists;
    for (const std::string& name : names_listed(problem->fix))
      EXPECT_THAT(names, ::testing::Contains(name)) << row.name;
  }
  EXPECT_GE(lists, 6U);
}

TEST(config_schema, has_patterns_that_agree_with_the_parser) {
  const ordered_json properties = read_schema("config.schema.json")["properties"];
  const auto agrees = [&](const std::string& name, const std::string& text) {
    const std::regex pattern(properties[name]["pattern"].get<std::string>());
    EXPECT_EQ(std::regex_search(text, pattern), !check_value(*find_option(name), text)) << name << " = " << text;
  };
  for (const auto& [name, property] : properties.items()) {
    for (const ordered_json& each : property.value("examples", ordered_json::array())) {
      agrees(name, each.get<std::string>());
      EXPECT_FALSE(check_value(*find_option(name), each.get<std::string>())) << name << " = " << each;
    }
  }
  for (const std::string& kind : data_kind_names()) {
    agrees("data", kind + ":x");
    agrees("data", kind + ":");
    agrees("data", kind + "x:x");
  }
  for (const char* text : {"profile", "type:", "type:a", "0,4", "0, 4, 15", "uniform ", "best", "0", "balanced", "x"}) {
    agrees("partition", text);
  }
  for (const char* text : {"cuda:1023", "cuda:", "cuda:x", "cpu:0", "gpu"}) agrees("device", text);
}

TEST(config_schema, knows_every_metric) {
  const ordered_json items = read_schema("config.schema.json")["properties"]["metrics"]["items"]["anyOf"];
  const ordered_json values = read_schema("result.schema.json")["$defs"]["metrics"];
  std::set<std::string> names;
  for (const metric_kind& each : metric_kinds) names.emplace(each.name);
  EXPECT_EQ(names.erase("topK"), 1U);
  const auto listed = items[0]["enum"].get<std::set<std::string>>();
  EXPECT_EQ(listed, names);
  EXPECT_EQ(keys_of(values["properties"]), names);
  EXPECT_TRUE(std::regex_search("top65536", std::regex(items[1]["pattern"].get<std::string>())));
  EXPECT_TRUE(values["patternProperties"].contains(items[1]["pattern"]));
  EXPECT_TRUE(values["patternProperties"].contains(items[2]["pattern"]));
  for (const char* name : {"f1:average=macro", "top5:ignore_index=-1", "cross_entropy:weight=0.5+1:ignore_index=0"}) {
    EXPECT_TRUE(std::regex_search(name, std::regex(items[2]["pattern"].get<std::string>()))) << name;
    EXPECT_TRUE(make_metric(name, 10)) << name;
  }
}

TEST(config_schema, knows_every_fault) {
  const ordered_json fault = read_schema("config.schema.json")["$defs"]["fault"];
  std::set<std::string> kinds;
  for (const fault_row& row : all_fault_rows()) kinds.emplace(row.name);
  const auto listed = fault["properties"]["kind"]["enum"].get<std::set<std::string>>();
  EXPECT_EQ(listed, kinds);
  const auto unknown = parse_config(fmt::format("[[fault]]\nkind = \"kill\"\n{} = 1\n", strange_name), "f");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(keys_of(fault["properties"]), names_listed(unknown.error().fix));
}

TEST(result_schema, has_every_option_in_its_config) {
  const ordered_json config = read_schema("result.schema.json")["$defs"]["config"];
  EXPECT_EQ(keys_of(config["properties"]), option_name_set());
  EXPECT_EQ(config["required"].get<std::set<std::string>>(), option_name_set());
  for (const option& row : all_options()) {
    const ordered_json& property = config["properties"][std::string(row.name)];
    EXPECT_EQ(property["description"], row.help);
    const bool may_be_unset = std::holds_alternative<std::monostate>(default_value(row));
    EXPECT_EQ(property["type"].is_array(), may_be_unset) << row.name << " has a null where it is not set";
  }
}

}  // namespace
}  // namespace troupe
