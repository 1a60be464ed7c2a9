// Goal: every fault in a TOML file is reported with its place, and good files give the settings they say. Method: small
// texts, with lines and columns counted by hand.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/runtime/config/config_file.hpp>

namespace troupe {
namespace {

using ::testing::HasSubstr;

TEST(config_file, gives_the_settings_in_the_order_of_the_file) {
  const auto settings =
      parse_config("stages = 4\nmetrics = [\"accuracy\", \"nll\"]\ndeadline = 2\njson = true\n", "run.toml");
  ASSERT_TRUE(settings) << to_string(settings.error());
  ASSERT_EQ(settings->size(), 4U);
  EXPECT_EQ(settings->at(0).target->name, "stages");
  EXPECT_EQ(settings->at(0).value, option_value(std::int64_t{4}));
  EXPECT_EQ(settings->at(0).from.where, "run.toml:1:10");
  EXPECT_EQ(settings->at(1).value, option_value(std::vector<std::string>{"accuracy", "nll"}));
  EXPECT_EQ(settings->at(1).from.where, "run.toml:2:11");
  EXPECT_EQ(settings->at(2).value, option_value(2.0));
  EXPECT_EQ(settings->at(3).value, option_value(true));
}

TEST(config_file, takes_auto_and_numbers_for_threads) {
  EXPECT_EQ(parse_config("threads = \"auto\"", "f")->at(0).value, option_value(std::monostate{}));
  EXPECT_EQ(parse_config("threads = 3", "f")->at(0).value, option_value(std::int64_t{3}));
}

struct fault {
  const char* text;
  error_code code;
  const char* where;
  const char* cause;
  const char* fix;
};

class config_file_fault : public ::testing::TestWithParam<fault> {};

TEST_P(config_file_fault, names_place_cause_and_fix) {
  const auto settings = parse_config(GetParam().text, "run.toml");
  ASSERT_FALSE(settings);
  EXPECT_EQ(settings.error().code, GetParam().code);
  EXPECT_EQ(settings.error().where, GetParam().where);
  EXPECT_THAT(settings.error().cause, HasSubstr(GetParam().cause));
  EXPECT_THAT(settings.error().fix, HasSubstr(GetParam().fix));
}

constexpr auto syntax = error_code::config_syntax;
constexpr auto unknown_key = error_code::config_unknown_key;
constexpr auto bad = error_code::config_bad_value;

INSTANTIATE_TEST_SUITE_P(
    all, config_file_fault,
    ::testing::Values(
        fault{"stages = 2\nmicrobatch = 4\n", unknown_key, "run.toml:2:1", "\"microbatch\"", "\"micro_batch\""},
        fault{"micro-batch = 4\n", unknown_key, "run.toml:1:1", "\"micro-batch\"", "\"micro_batch\""},
        fault{"[eval]\nstages = 4\n", unknown_key, "run.toml:1:2", "\"eval\"", "use one of"},
        fault{"stages = \"four\"", bad, "run.toml:1:10: stages",
              "the string \"four\", expected a whole number from 1 to 1024", "stages = 4"},
        fault{"stages = 1.5", bad, "run.toml:1:10: stages", "the real number 1.5", "stages = 4"},
        fault{"\nstages = 0", bad, "run.toml:2:10: stages", "0, expected a whole number from 1 to 1024", "stages = 4"},
        fault{"stages = 1025", bad, "run.toml:1:10: stages", "1025", "stages = 4"},
        fault{"stages = -1", bad, "run.toml:1:10: stages", "-1", "stages = 4"},
        fault{"threads = \"many\"", bad, "run.toml:1:11: threads", "expected auto or a whole number", "threads = 1"},
        fault{"json = 1", bad, "run.toml:1:8: json", "expected true or false", "json = true"},
        fault{"metrics = \"accuracy\"", bad, "run.toml:1:11: metrics", "expected a list of names",
              "metrics = [\"accuracy\", \"cross_entropy\"]"},
        fault{"metrics = [1]", bad, "run.toml:1:11: metrics", "expected a list of names", "metrics = ["},
        fault{"metrics = []", bad, "run.toml:1:11: metrics", "no metric named", "metrics = ["},
        fault{"metrics = [\"acuracy\"]", bad, "run.toml:1:11: metrics", "acuracy", "accuracy"},
        fault{"metrics = [\"nll\", \"nll\"]", bad, "run.toml:1:11: metrics", "named twice", "once"},
        fault{"optimize = \"lyaer\"", bad, "run.toml:1:12: optimize", "\"lyaer\"", "\"layer\""},
        fault{"partition = \"unifrom\"", bad, "run.toml:1:13: partition", "unifrom", "uniform"},
        fault{"partition = \"type:(\"", bad, "run.toml:1:13: partition", "", ""},
        fault{"partition = \"0,5,5\"", bad, "run.toml:1:13: partition", "5", "0,4,15"},
        fault{"data = \"minst:dir\"", bad, "run.toml:1:8: data", "\"minst\"", "\"mnist\""},
        fault{"data = \"somewhere\"", bad, "run.toml:1:8: data", "kind of data", "KIND:PATH"},
        fault{"deadline = nan", bad, "run.toml:1:12: deadline", "nan", "deadline = 60"},
        fault{"deadline = 0", bad, "run.toml:1:12: deadline", "0, expected seconds from", "deadline = 60"},
        fault{"limit = 0", bad, "run.toml:1:9: limit", "0, expected", "limit = 1000"},
        fault{"stages = \n", syntax, "run.toml:1:10", "", "stages = 4"},
        fault{"stages = 1\nstages = 2\n", syntax, "run.toml:2:10", "", "stages = 4"},
        fault{"stages : 4", syntax, "run.toml:1:8", "", "stages = 4"}));

TEST(config_file, that_is_missing_or_a_directory_is_named) {
  const auto missing = read_config("/nowhere/run.toml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, error_code::config_missing);
  EXPECT_EQ(missing.error().where, "/nowhere/run.toml");
  EXPECT_THAT(missing.error().cause, HasSubstr("No such file"));
  const std::string directory = std::filesystem::temp_directory_path().string();
  const auto opened = read_config(directory);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, error_code::config_missing);
  EXPECT_EQ(opened.error().where, directory);
  EXPECT_THAT(opened.error().cause, HasSubstr("directory"));
}

}  // namespace
}  // namespace troupe
