// Goal: options of data mean the same in the text, in a table of TOML and in flags, and mistakes name their place.
// Method: the three forms of each, resolved; each mistake with the words that its error must have.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/config/config_file.hpp"
#include "runtime/config/data_overrides.hpp"
#include "runtime/config/resolve.hpp"
#include "runtime/data/data_specification.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;
using flag_list = std::vector<std::pair<std::string, std::string>>;

const std::string wanted = "csv:\"a,b.csv\",columns=x+\"y+z\",label=kind,ignore=-1,skip-empty=true,separator=;";

std::string in_toml(const std::string& table) {
  const auto settings = parse_config(table, "f.toml");
  if (!settings) return to_string(settings.error());
  std::string text;
  for (const setting& each : *settings) {
    if (each.target->name == "data") text += std::get<std::string>(each.value);
    if (each.target->name == "data_workers") text += std::to_string(std::get<std::int64_t>(each.value)) + " ";
  }
  return text;
}

std::string with_flags(const std::string& data, const flag_list& flags, origin_kind from = origin_kind::file) {
  const auto made = with_data_flags(data, {from, "run.toml:1:1"}, flags);
  return made ? *made : to_string(made.error());
}

TEST(data_table, the_three_forms_mean_the_same) {
  EXPECT_EQ(to_string(get(parse_data(wanted))), wanted);
  EXPECT_EQ(in_toml("[data]\nkind = \"csv\"\npath = \"a,b.csv\"\nworkers = 3\ncolumns = [\"x\", \"y+z\"]\n"
                    "label = \"kind\"\nignore = -1\nskip_empty = true\nseparator = \";\"\n"),
            "3 " + wanted);
  EXPECT_EQ(
      with_flags(
          "csv:\"a,b.csv\",label=other",
          {{"columns", "x,y+z"}, {"label", "kind"}, {"ignore", "-1"}, {"skip-empty", "true"}, {"separator", ";"}}),
      wanted)
      << "a flag takes the place of what the file says";
  EXPECT_EQ(in_toml("[data]\nkind = \"npy\"\npath = [\"x.npy\", \"y.npy\"]\ndtype = \"float32\"\n"),
            "npy:x.npy,y.npy,float32");
  EXPECT_EQ(in_toml("data = {kind = \"mnist\", path = \"d\"}\n"), "mnist:d");
}

TEST(data_table, flags_belong_to_the_data_in_force) {
  option_sources sources;
  sources.environment = {{"TROUPE_DATA", "npz:x.npz,float32"}};
  sources.data_flags = {{"label", "a,b"}};
  const resolved_options resolved = get(resolve_options(sources));
  EXPECT_EQ(resolved.options.data, "npz:x.npz,label=a+b,float32");
  EXPECT_EQ(resolved.from("data").where, "TROUPE_DATA, --label");
  EXPECT_EQ(data_flag_name("dtype"), "--data-dtype");
  EXPECT_EQ(data_flag_name("skip-empty"), "--skip-empty");
}

TEST(data_table, mistakes_name_their_place) {
  const std::string head = "[data]\nkind = \"csv\"\npath = \"x\"\n";
  EXPECT_THAT(in_toml(head + "colums = 3\n"), ::testing::AllOf(HasSubstr("E0403: f.toml:4:1"), HasSubstr("columns")));
  EXPECT_THAT(in_toml(head + "trim = \"m\"\n"), HasSubstr("it is one of npy, npz"));
  EXPECT_THAT(in_toml(head + "ignore = \"m\"\n"),
              HasSubstr("E0404: f.toml:4:10: data.ignore: expected a whole number"));
  EXPECT_THAT(in_toml(head + "columns = [1]\n"), HasSubstr("columns = [\"age\", \"height\"]"));
  EXPECT_THAT(in_toml(head + "columns = [\"a\", \"a\"]\n"), HasSubstr("twice"));
  EXPECT_THAT(in_toml(head + "skip_empty = 1\n"), HasSubstr("skip_empty = true"));
  EXPECT_THAT(in_toml(head + "header = \"maybe\"\n"), HasSubstr("one of yes, no"));
  EXPECT_THAT(in_toml(head + "workers = 0\n"), HasSubstr("1 to 64"));
  EXPECT_THAT(in_toml(head + "workers = \"two\"\n"), HasSubstr("data.workers"));
  EXPECT_THAT(in_toml("[data]\npath = \"x\"\n"), HasSubstr("says no kind"));
  EXPECT_THAT(in_toml("[data]\nkind = \"cvs\"\npath = \"x\"\n"), HasSubstr("write \"csv\""));
  EXPECT_THAT(in_toml("[data]\nkind = \"csv\"\n"), HasSubstr("says no path"));
  EXPECT_THAT(in_toml("[data]\nkind = \"csv\"\npath = [\"x\", \"y\"]\n"), HasSubstr("expected one path"));
  EXPECT_THAT(in_toml("data = \"csv:x,colums=a\"\n"), ::testing::AllOf(HasSubstr("E0404"), HasSubstr("columns")));
}

TEST(data_table, mistakes_of_flags_are_said) {
  EXPECT_THAT(with_flags("mnist:d", {{"columns", "a"}}),
              ::testing::AllOf(HasSubstr("E0102: --columns: mnist"), HasSubstr("csv, jsonl")));
  EXPECT_THAT(with_flags("", {{"columns", "a"}}), HasSubstr("E0105: --columns"));
  EXPECT_THAT(with_flags("csv:x", {{"ignore", "a"}}), HasSubstr("write for example --ignore -100"));
  EXPECT_THAT(with_flags("csv:x,label=a", {{"label", "b"}}, origin_kind::flag), HasSubstr("E0104: --label"));
}

TEST(data_table, the_schema_knows_every_option) {
  std::ifstream file(testing::source_dir() / "docs/schema/config.schema.json");
  const auto data = nlohmann::ordered_json::parse(file)["properties"]["data"];
  EXPECT_EQ(data["properties"]["kind"]["enum"].get<std::vector<std::string>>(), data_kind_names());
  std::set<std::string> known = {"kind", "path", "workers"};
  for (const data_option* each : all_data_options()) {
    std::string name(each->name);
    std::ranges::replace(name, '-', '_');
    known.insert(name);
    ASSERT_TRUE(data["properties"].contains(name)) << "add " << name << " to docs/schema/config.schema.json";
    EXPECT_EQ(data["properties"][name]["description"], each->help) << name;
  }
  EXPECT_EQ(data["properties"].size(), known.size());
}

TEST(data_table, the_page_has_a_row_for_every_option) {
  std::ifstream file(testing::source_dir() / "docs/data.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const data_option* each : all_data_options()) {
    std::string help(each->help);
    if (const std::size_t bar = help.find('|'); bar != std::string::npos) help.insert(bar, "\\");
    const std::string begin = "| `" + std::string(each->name) + "` | `" + data_flag_name(each->name) + "` | ";
    const std::size_t at = page.find(begin);
    ASSERT_NE(at, std::string::npos) << begin;
    EXPECT_THAT(page.substr(at, page.find('\n', at) - at),
                HasSubstr("| " + kinds_with(each->name) + " | " + help + " |"));
  }
}

}  // namespace
}  // namespace troupe
