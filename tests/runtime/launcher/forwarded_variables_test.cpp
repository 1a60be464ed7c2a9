// Goal: the variables for nodes are those that the user means; nothing else is taken for one.
// Method: a table of lines, with the places of faults counted by hand; files in directories made for the test.
#include "runtime/launcher/forwarded_variables.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "messages/limits.hpp"
#include "tests/runtime/launcher/launch_run.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

struct good_text {
  const char* text;
  variable_map variables;
};

TEST(variables_file, good_lines) {
  const std::vector<good_text> table = {
      {"", {}},
      {"\n \n\t\n# comment=1\n", {}},
      {"A=1", {{"A", "1"}}},
      {"A=1\nB=2\n", {{"A", "1"}, {"B", "2"}}},
      {"A=1\r\nB=2\r\n", {{"A", "1"}, {"B", "2"}}},
      {"A=", {{"A", ""}}},
      {"A= b c ", {{"A", " b c "}}},
      {"A=b=c", {{"A", "b=c"}}},
      {"A=# no comment", {{"A", "# no comment"}}},
      {"_a1=x", {{"_a1", "x"}}},
      {"A=\"quoted\"", {{"A", "\"quoted\""}}},
  };
  for (const good_text& each : table) {
    const auto read = parse_variables(each.text, "env");
    ASSERT_TRUE(read) << each.text << to_string(read.error());
    EXPECT_EQ(*read, each.variables) << each.text;
  }
}

struct bad_text {
  std::string text;
  error_code code;
  const char* place;
};

TEST(variables_file, bad_lines_have_their_place) {
  using enum error_code;
  const std::vector<bad_text> table = {
      {"A", config_syntax, "env:1:2"},
      {"A=1\nB", config_syntax, "env:2:2"},
      {"=1", config_syntax, "env:1:1"},
      {" A=1", config_syntax, "env:1:1"},
      {"A =1", config_syntax, "env:1:2"},
      {"1A=1", config_syntax, "env:1:1"},
      {"A-B=1", config_syntax, "env:1:2"},
      {"export A=1", config_syntax, "env:1:7"},
      {"\n\nÄ=1", config_syntax, "env:3:1"},
      {std::string("A=b\0c", 5), config_syntax, "env:1:4"},
      {"A=1\n\nA=2", config_bad_value, "env:3:1"},
      {"TROUPE_LAUNCH=version=1;channel=3", config_bad_value, "env:1:1"},
      {"A=1\nTROUPE_WORKER=x", config_bad_value, "env:2:1"},
      {"TROUPE_PROBE=x", config_bad_value, "env:1:1"},
      {std::string(limits::launch_variables_bytes_max + 1, '\n'), config_syntax, "env"},
  };
  for (const bad_text& each : table) {
    const auto read = parse_variables(each.text, "env");
    ASSERT_FALSE(read) << each.text.substr(0, 40);
    EXPECT_EQ(read.error().code, each.code) << each.text.substr(0, 40);
    EXPECT_EQ(read.error().where, each.place) << each.text.substr(0, 40);
    EXPECT_FALSE(read.error().fix.empty());
  }
}

TEST(variables_file, may_be_absent_but_not_unreadable) {
  const scratch_directory place;
  const auto absent = read_variables((place.path() / ".troupe_env").string());
  ASSERT_TRUE(absent);
  EXPECT_TRUE(absent->empty());
  const auto directory = read_variables(place.path().string());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, error_code::config_missing);
}

TEST(variable_flag, is_a_pair_or_a_name_that_is_set) {
  const environment_lookup lookup = [](std::string_view name) -> std::optional<std::string> {
    return name == "SET" ? std::optional<std::string>("here") : std::nullopt;
  };
  EXPECT_EQ(read_variable_flag("A=b=c", lookup)->second, "b=c");
  EXPECT_EQ(read_variable_flag("A=", lookup)->second, "");
  EXPECT_EQ(read_variable_flag("SET", lookup)->second, "here");
  for (const char* text : {"", "=x", "A B=1", "UNSET", "TROUPE_LAUNCH=1", "TROUPE_WORKER"}) {
    const auto read = read_variable_flag(text, lookup);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, error_code::value_out_of_range);
    EXPECT_THAT(to_string(read.error()), HasSubstr("--env"));
  }
}

TEST(forwarded_variables, only_some_prefixes_and_never_what_makes_a_process_a_worker) {
  for (const char* name : {"TROUPE_THREADS", "OMP_NUM_THREADS", "MKL_DYNAMIC", "NCCL_DEBUG"})
    EXPECT_TRUE(is_forwarded(name)) << name;
  for (const char* name : {"TROUPE_LAUNCH", "TROUPE_WORKER", "TROUPE_PROBE", "PATH", "HOME", "LD_PRELOAD", "XOMP_A",
                           "troupe_a", "OMP_A B", ""})
    EXPECT_FALSE(is_forwarded(name)) << name;
}

TEST(forwarded_variables, what_is_nearer_wins) {
  const scratch_directory home;
  const scratch_directory work;
  std::ofstream(home.path() / ".troupe_env") << "A=home\nB=home\nC=home\nOMP_A=home\n";
  std::ofstream(work.path() / ".troupe_env") << "B=work\nC=work\n";
  const std::vector<std::string> own = {"OMP_A=own", "OMP_B=own", "SHELL=sh", "TROUPE_LAUNCH=x", "D=own"};
  const std::vector<std::string> flags = {"C=flag", "D"};
  const auto all = collect_variables(own, home.path().string(), work.path().string(), flags);
  ASSERT_TRUE(all) << to_string(all.error());
  EXPECT_EQ(*all, (variable_map{
                      {"A", "home"}, {"B", "work"}, {"C", "flag"}, {"D", "own"}, {"OMP_A", "home"}, {"OMP_B", "own"}}));
  // one directory is read once; no home is none
  for (const std::string& other : {work.path().string(), std::string()}) {
    const auto one = collect_variables({}, other, work.path().string(), {});
    ASSERT_TRUE(one);
    EXPECT_EQ(*one, (variable_map{{"B", "work"}, {"C", "work"}}));
  }
}

TEST(forwarded_variables, have_a_limit) {
  std::vector<std::string> flags;
  for (std::size_t i = 0; i <= limits::launch_variables_max; ++i) flags.push_back("A" + std::to_string(i) + "=");
  const scratch_directory empty;
  const auto all = collect_variables({}, "", empty.path().string(), flags);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().code, error_code::value_out_of_range);
}

}  // namespace
}  // namespace troupe::testing
