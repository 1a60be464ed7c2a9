// Goal: every fault in a TOML file is reported with its place, and good files give the settings they say. Method: small
// texts, with lines and columns counted by hand.
#include "runtime/config/config_file.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"

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

struct bad_file {
  const char* text;
  error_code code;
  const char* where;
  const char* cause;
  const char* fix;
};

TEST(config_file, takes_faults_as_tables_and_as_texts) {
  const option_value both = std::vector<std::string>{"stop:worker=3,at=2.5s,for=4s", "kill:loader,at=mb5"};
  const auto tables = parse_config(
      "stages = 2\n[[fault]]\nat = 2.5\nfor = 4\nkind = \"stop\"\nworker = 3\n"
      "[[fault]]\nkind = \"kill\"\nloader = true\nat = \"mb5\"\n",
      "f");
  ASSERT_TRUE(tables) << to_string(tables.error());
  EXPECT_EQ(tables->at(1).value, both);
  EXPECT_EQ(tables->at(1).places, (std::vector<std::string>{"f:2:1", "f:7:1"}));
  const auto texts = parse_config("fault = [\"stop:worker=3,at=2.5s,for=4s\", \"kill:loader,at=mb5\"]", "f");
  ASSERT_TRUE(texts) << to_string(texts.error());
  EXPECT_EQ(texts->at(0).value, both);
  EXPECT_EQ(texts->at(0).places, (std::vector<std::string>{"f:1:10", "f:1:42"}));
}

class config_file_fault : public ::testing::TestWithParam<bad_file> {};

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
        bad_file{"stages = 2\nmicrobatch = 4\n", unknown_key, "run.toml:2:1", "\"microbatch\"", "\"micro_batch\""},
        bad_file{"micro-batch = 4\n", unknown_key, "run.toml:1:1", "\"micro-batch\"", "\"micro_batch\""},
        bad_file{"[eval]\nstages = 4\n", unknown_key, "run.toml:1:2", "\"eval\"", "use one of"},
        bad_file{"stages = \"four\"", bad, "run.toml:1:10: stages",
                 "the string \"four\", expected a whole number from 1 to 1024", "stages = 4"},
        bad_file{"stages = 1.5", bad, "run.toml:1:10: stages", "the real number 1.5", "stages = 4"},
        bad_file{"\nstages = 0", bad, "run.toml:2:10: stages", "0, expected a whole number from 1 to 1024",
                 "stages = 4"},
        bad_file{"stages = 1025", bad, "run.toml:1:10: stages", "1025", "stages = 4"},
        bad_file{"stages = -1", bad, "run.toml:1:10: stages", "-1", "stages = 4"},
        bad_file{"threads = \"many\"", bad, "run.toml:1:11: threads", "expected auto or a whole number", "threads = 1"},
        bad_file{"json = 1", bad, "run.toml:1:8: json", "expected true or false", "json = true"},
        bad_file{"metrics = \"accuracy\"", bad, "run.toml:1:11: metrics", "expected a list of names",
                 "metrics = [\"accuracy\", \"cross_entropy\"]"},
        bad_file{"metrics = [1]", bad, "run.toml:1:11: metrics", "expected a list of names", "metrics = ["},
        bad_file{"metrics = []", bad, "run.toml:1:11: metrics", "no metric named", "metrics = ["},
        bad_file{"metrics = [\"acuracy\"]", bad, "run.toml:1:11: metrics", "acuracy", "accuracy"},
        bad_file{"metrics = [\"nll\", \"nll\"]", bad, "run.toml:1:11: metrics", "named twice", "once"},
        bad_file{"optimize = \"grahp\"", bad, "run.toml:1:12: optimize", "\"grahp\"", "\"graph\""},
        bad_file{"partition = \"unifrom\"", bad, "run.toml:1:13: partition", "unifrom", "uniform"},
        bad_file{"partition = \"type:(\"", bad, "run.toml:1:13: partition", "", ""},
        bad_file{"partition = \"0,5,5\"", bad, "run.toml:1:13: partition", "5", "0,4,15"},
        bad_file{"data = \"minst:dir\"", bad, "run.toml:1:8: data", "\"minst\"", "\"mnist\""},
        bad_file{"data = \"somewhere\"", bad, "run.toml:1:8: data", "kind of data", "KIND:PATH"},
        bad_file{"deadline = nan", bad, "run.toml:1:12: deadline", "nan", "deadline = 60"},
        bad_file{"deadline = 0", bad, "run.toml:1:12: deadline", "0, expected seconds from", "deadline = 60"},
        bad_file{"limit = 0", bad, "run.toml:1:9: limit", "0, expected", "limit = 1000"},
        bad_file{"[[fault]]\nkind = \"kil\"\n", bad, "run.toml:2:8: fault", "no kind of fault \"kil\"", "\"kill\""},
        bad_file{"[[fault]]\nloader = true\n", bad, "run.toml:1:1: fault", "has no kind", "[[fault]]"},
        bad_file{"stages = 2\n[[fault]]\nkind = \"kill\"\nloader = true\nat = \"noon\"\n", bad, "run.toml:5:6: fault",
                 "at: \"noon\"", ""},
        bad_file{"[[fault]]\nkind = \"kill\"\nloader = false\n", bad, "run.toml:3:10: fault", "no such value", ""},
        bad_file{"[[fault]]\nkind = \"kill\"\nstage = \"net.1\"\n", bad, "run.toml:2:1: fault", "needs a moment",
                 "at=mb17"},
        bad_file{"[[fault]]\nkind = \"kill\"\nstage = \"net.1\"\nat = 2\nfro = 1\n", bad, "run.toml:5:1: fault",
                 "a fault has no \"fro\"", "\"for\""},
        bad_file{"[[fault]]\nkind = \"kill\"\nedge = \"a-b\"\nat = \"mb1\"\n", bad, "run.toml:3:1: fault",
                 "no kill of an edge", "kill is for"},
        bad_file{"fault = [\"kill:loader\"]", bad, "run.toml:1:10: fault", "column 1: kill needs a moment", ""},
        bad_file{"fault = [3]", bad, "run.toml:1:10: fault", "neither a table nor a text", ""},
        bad_file{"fault = \"kill:loader,at=mb1\"", bad, "run.toml:1:9: fault", "expected a list of faults",
                 "fault = ["},
        bad_file{"stages = \n", syntax, "run.toml:1:10", "", "stages = 4"},
        bad_file{"stages = 1\nstages = 2\n", syntax, "run.toml:2:10", "", "stages = 4"},
        bad_file{"stages : 4", syntax, "run.toml:1:8", "", "stages = 4"}));

std::string repeated(std::size_t times, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

constexpr std::size_t parts_max = limits::config_key_dots_max + 1;
constexpr std::size_t nesting_max = limits::config_nesting_max;

/// One level more than allowed, and so many that a recursion per level would overflow the stack.
class too_deep : public ::testing::TestWithParam<std::size_t> {};

TEST_P(too_deep, is_refused_with_its_place_before_it_is_parsed) {
  const std::size_t more = GetParam();
  const std::string parts = "a" + repeated(parts_max - 1 + more, ".a");
  const std::string quoted = "'a'" + repeated(parts_max - 1 + more, " . \"b\"");
  struct attack {
    std::string text;
    std::string where;
    std::string cause;
  };
  const std::string parts_cause = "a key of more than " + std::to_string(parts_max) + " parts";
  const std::string nesting_cause =
      "more than " + std::to_string(nesting_max) + " arrays and inline tables inside each other";
  const std::size_t dot = 2 * parts_max;  // of a.a.a...: where the first one too many stands
  const std::string deep_inline = repeated(nesting_max + more, "{a=");
  const attack attacks[] = {
      {parts + " = 1", "f:1:" + std::to_string(dot), parts_cause},
      {"stages = 2\n\n[" + parts + "]\n", "f:3:" + std::to_string(dot + 1), parts_cause},
      {"[[" + parts + "]]\n", "f:1:" + std::to_string(dot + 2), parts_cause},
      {"x = {" + parts + " = 1}\n", "f:1:" + std::to_string(dot + 5), parts_cause},
      {quoted + " = 1", "f:1:" + std::to_string(3 + 6 * (parts_max - 1) + 2), parts_cause},
      {"a = " + repeated(nesting_max + more, "[") + repeated(nesting_max + more, "]"),
       "f:1:" + std::to_string(5 + nesting_max), nesting_cause},
      {"a = " + repeated(nesting_max + more, "[\n"), "f:" + std::to_string(1 + nesting_max) + ":1", nesting_cause},
      {"a = " + deep_inline + "1" + repeated(nesting_max + more, "}"), "f:1:" + std::to_string(5 + 3 * nesting_max),
       nesting_cause},
      // Brackets behind a string that ends in five quotes are outside the string.
      {"a = [\"\"\"x\"\"\"\"\", " + repeated(nesting_max + more, "["),
       "f:1:" + std::to_string(5 + 1 + 9 + 2 + nesting_max - 1), nesting_cause},
      {"a = ['''x''''', " + repeated(nesting_max + more, "["), "f:1:" + std::to_string(5 + 1 + 9 + 2 + nesting_max - 1),
       nesting_cause},
      {"\"\xc3\xa4\" = 1 # [[[[ ...\n\"\xc3\xa4\"." + parts + " = 1", "f:2:" + std::to_string(4 + dot - 2),
       parts_cause}};
  for (const attack& each : attacks) {
    const auto settings = parse_config(each.text, "f");
    ASSERT_FALSE(settings) << each.where;
    EXPECT_EQ(settings.error().code, error_code::config_syntax);
    EXPECT_EQ(settings.error().where, each.where) << each.text.substr(0, 80);
    EXPECT_EQ(settings.error().cause, each.cause);
  }
}

INSTANTIATE_TEST_SUITE_P(by, too_deep, ::testing::Values(1, 100000));

TEST(config_file, with_brackets_and_dots_in_texts_and_comments_is_none_too_deep) {
  const std::string dots(100, '.');
  const std::string open(100, '[');
  const std::string text = "# " + dots + open + " \"\nmodel = \"" + dots + open + "\\\"" + open + "\" # '" + open +
                           "\ndata = '''npy:\n" + open + "'x''" + dots + "\",b'''\noutput = \"\"\"" + open +
                           "\\\"\"\"" + dots + "\"\"\"\"\"\njournal = '" + open + "\\'\ndeadline = 2.5\n";
  const auto settings = parse_config(text, "f");
  ASSERT_TRUE(settings) << to_string(settings.error());
  EXPECT_EQ(settings->size(), 5U);
  EXPECT_EQ(std::get<std::string>(settings->at(3).value), open + "\\");
}

TEST(config_file, may_nest_as_deep_as_the_limit_and_has_no_such_option) {
  for (const std::string& text :
       {"a" + repeated(parts_max - 1, ".a") + " = 1.5",
        "a = " + repeated(nesting_max, "[") + repeated(nesting_max, "]"), repeated(50, "[a]\n[b]\n") + "x = 1"}) {
    const auto settings = parse_config(text, "f");
    ASSERT_FALSE(settings);
    EXPECT_NE(settings.error().cause.substr(0, 5), "a key") << settings.error().cause;
    EXPECT_NE(settings.error().cause.substr(0, 9), "more than") << settings.error().cause;
  }
}

TEST(config_file, gives_no_option_an_empty_text) {
  for (const option& each : all_options()) {
    const auto text = parse_config(std::string(each.name) + " = \"\"\n", "f");
    const auto list = parse_config(std::string(each.name) + " = [\"\"]\n", "f");
    for (const auto* settings : {&text, &list}) {
      ASSERT_FALSE(*settings) << each.name;
      EXPECT_EQ(settings->error().code, error_code::config_bad_value) << each.name;
      EXPECT_EQ(settings->error().where, "f:1:" + std::to_string(each.name.size() + 4) + ": " + std::string(each.name));
    }
    if (each.kind == option_kind::text) {
      EXPECT_THAT(text.error().cause, HasSubstr("is empty, expected "));
    }
  }
}

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
