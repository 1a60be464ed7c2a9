// Goal: the strongest source wins and is remembered, for every option; what concerns several options is checked.
// Method: each option of the table gets a value of its own from each source.
#include "runtime/config/resolve.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A good value that is not the default, as text; `which` tells the three sources apart.
std::string text_for(const option& target, int which) {
  if (target.name == "data") return "npy:a" + std::to_string(which) + ",b";
  if (target.name == "transport") return which == 2 ? "shm" : "inproc";
  if (target.name == "layers") return which == 2 ? "modules" : "operators";
  if (target.name == "optimize") return which == 2 ? "graph" : "none";
  if (target.name == "device") return "cuda:" + std::to_string(which);
  if (target.name == "dtype") return which == 2 ? "bfloat16" : "float16";
  if (target.name == "predictions") return "p" + std::to_string(which) + ".npy";
  if (target.name == "predictions_with") return which == 2 ? "outputs" : "probabilities";
  if (target.name == "log_format") return which == 2 ? "text" : "json";
  if (target.name == "log_level") return which == 2 ? "debug" : "error";
  if (target.name == "partition") return "type:x" + std::to_string(which);
  if (target.name == "confidence") return "0." + std::to_string(which + 1);
  if (target.name == "metrics") return "top" + std::to_string(which + 1);
  if (target.kind == option_kind::faults) return "kill:loader,at=mb1;kill:worker=" + std::to_string(which) + ",at=2s";
  if (target.kind == option_kind::toggle) return which == 2 ? "true" : "false";
  if (target.kind == option_kind::text) return "text" + std::to_string(which);
  return std::to_string(which + 10);
}

std::string toml_line(const option& target, int which) {
  return std::string(target.name) + " = " + value_text(target, *parse_value(target, text_for(target, which))) + "\n";
}

class resolve : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("troupe-resolve-" + std::to_string(::getpid()));
  }
  void TearDown() override { std::filesystem::remove(path_); }
  void write(const std::string& text) { std::ofstream(path_) << text; }

  std::filesystem::path path_;
};

TEST_F(resolve, defaults_are_those_of_eval_options) {
  const auto resolved = resolve_options({});
  ASSERT_TRUE(resolved);
  for (const option& each : all_options()) {
    EXPECT_EQ(each.get(resolved->options), each.get(eval_options{})) << each.name;
    EXPECT_EQ(resolved->from(each.name).where, "default") << each.name;
  }
}

TEST_F(resolve, takes_file_then_environment_then_flags_for_every_option) {
  for (const option& each : all_options()) {
    SCOPED_TRACE(each.name);
    write(toml_line(each, 1));
    option_sources sources{path_.string(), {}, {}};
    const auto value = [&](int which) { return *parse_value(each, text_for(each, which)); };

    auto resolved = resolve_options(sources);
    ASSERT_TRUE(resolved) << to_string(resolved.error());
    EXPECT_EQ(each.get(resolved->options), value(1));
    EXPECT_EQ(resolved->from(each.name).where, path_.string() + ":1:" + std::to_string(each.name.size() + 4));

    sources.environment = {{variable_name(each), text_for(each, 2)}};
    resolved = resolve_options(sources);
    ASSERT_TRUE(resolved) << to_string(resolved.error());
    EXPECT_EQ(each.get(resolved->options), value(2));
    EXPECT_EQ(resolved->from(each.name).where, variable_name(each));

    sources.flags = {{std::string(each.name), text_for(each, 3)}};
    resolved = resolve_options(sources);
    ASSERT_TRUE(resolved) << to_string(resolved.error());
    EXPECT_EQ(each.get(resolved->options), value(3));
    EXPECT_EQ(resolved->from(each.name).where, flag_name(each));
  }
}

TEST_F(resolve, takes_former_names_with_a_note) {
  const auto resolved = resolve_options({{}, {{"TROUPE_OPTIMIZE", "stage"}}, {{"stages", "2"}}});
  ASSERT_TRUE(resolved) << to_string(resolved.error());
  EXPECT_EQ(resolved->options.optimize, optimize_mode::graph);
  EXPECT_THAT(resolved->warnings,
              ElementsAre("TROUPE_OPTIMIZE: optimize = stage is called graph now, and does the same"));
}

TEST_F(resolve, refuses_a_bad_value_that_a_stronger_source_replaces) {
  write("stages = 0\n");
  const auto resolved = resolve_options({path_.string(), {}, {{"stages", "2"}}});
  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().code, error_code::config_bad_value);
}

TEST_F(resolve, takes_the_file_from_the_environment_unless_a_flag_names_one) {
  write("stages = 7\n");
  EXPECT_EQ(resolve_options({std::nullopt, {{"TROUPE_CONFIG", path_.string()}}, {}})->options.stages, 7U);
  const auto other = resolve_options({"/nowhere.toml", {{"TROUPE_CONFIG", path_.string()}}, {}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().where, "/nowhere.toml");
}

TEST_F(resolve, warns_of_every_variable_that_names_no_option_but_those_of_the_project) {
  const auto resolved = resolve_options({std::nullopt,
                                         {{"TROUPE_STAGE", "2"},
                                          {"TROUPE_DATA_DIR", "x"},
                                          {"TROUPE_LAUNCH", "x"},
                                          {"TROUPE_TEST_X", "x"},
                                          {"TROUPE_CONFIG", ""},
                                          {"TROUPE_SOMETHING_ELSE", "y"},
                                          {"TROUPE_UNSET", ""},
                                          {"TROUPE_JSON", ""}},
                                         {}});
  ASSERT_TRUE(resolved);
  EXPECT_THAT(resolved->warnings, ElementsAre("the variable TROUPE_SOMETHING_ELSE is ignored: there is no such option",
                                              "the variable TROUPE_STAGE is ignored; did you mean TROUPE_STAGES?"));
  EXPECT_EQ(resolved->options.stages, 1U);
}

TEST_F(resolve, knows_every_variable_that_the_program_reads_or_the_readme_names) {
  const std::regex quoted("[\"`](TROUPE_[A-Z_]*[A-Z])[\"`]");
  std::set<std::string> names;
  const auto read = [&](const std::filesystem::path& path) {
    std::ifstream file(path);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    for (std::sregex_iterator each(text.begin(), text.end(), quoted); each != std::sregex_iterator(); ++each)
      names.insert((*each)[1]);
  };
  read(testing::source_dir() / "README.md");
  for (const char* folder : {"runtime", "actors", "program", "cli"}) {
    for (const auto& each : std::filesystem::recursive_directory_iterator(testing::source_dir() / folder)) {
      if (each.is_regular_file()) read(each.path());
    }
  }
  EXPECT_GE(names.size(), 10U);
  names.erase("TROUPE_CONFIG");
  for (const option& each : all_options()) names.erase(variable_name(each));
  option_sources sources;
  for (const std::string& each : names) sources.environment.emplace_back(each, "x");
  EXPECT_THAT(resolve_options(sources)->warnings, IsEmpty());
}

TEST_F(resolve, names_variable_or_flag_in_errors) {
  const auto variable = resolve_options({std::nullopt, {{"TROUPE_MICRO_BATCH", "many"}}, {}});
  ASSERT_FALSE(variable);
  EXPECT_EQ(variable.error().code, error_code::value_out_of_range);
  EXPECT_EQ(variable.error().where, "TROUPE_MICRO_BATCH");
  EXPECT_THAT(variable.error().fix, HasSubstr("TROUPE_MICRO_BATCH=64"));
  const auto flag = resolve_options({std::nullopt, {}, {{"metrics", "acuracy"}}});
  ASSERT_FALSE(flag);
  EXPECT_EQ(flag.error().code, error_code::unknown_name);
  EXPECT_EQ(flag.error().where, "--metrics");
}

TEST_F(resolve, a_plan_knows_where_its_faults_are_written) {
  write("stages = 2\n[[fault]]\nkind = \"kill\"\nloader = true\nat = \"mb5\"\n");
  const std::string fault = ": fault \"kill:loader,at=mb5\"";
  const std::string text = "kill:loader,at=mb5";
  const auto plan_of = [&](option_sources sources) { return resolve_options(sources)->options.run.faults; };
  EXPECT_EQ(plan_of({path_.string(), {}, {}}).where(0), path_.string() + ":2:1" + fault);
  EXPECT_EQ(plan_of({std::nullopt, {{"TROUPE_FAULT", text}}, {}}).where(0), "TROUPE_FAULT" + fault);
  EXPECT_EQ(plan_of({path_.string(), {}, {{"fault", text}}}).where(0), "--fault" + fault);
  EXPECT_EQ(plan_of({std::nullopt, {}, {{"fault", "kill:aggregator,at=mb1;" + text}}}).where(1),
            "--fault (2 of 2)" + fault);
}

TEST_F(resolve, refuses_an_empty_value_of_every_flag_and_takes_an_empty_variable_for_none) {
  for (const option& each : all_options()) {
    const auto flag = resolve_options({std::nullopt, {}, {{std::string(each.name), ""}}});
    ASSERT_FALSE(flag) << each.name;
    EXPECT_EQ(flag.error().code, error_code::value_out_of_range) << each.name;
    EXPECT_EQ(flag.error().where, flag_name(each));
    const auto variable = resolve_options({std::nullopt, {{variable_name(each), ""}}, {}});
    ASSERT_TRUE(variable) << each.name;
    EXPECT_EQ(variable->from(each.name).where, "default");
  }
}

TEST_F(resolve, numbers_are_read_to_the_end_and_within_their_range) {
  for (const char* text : {"", "x", "1x", " 1", "1 ", "+1", "0x1", "1e2", "1.0", "0", "-1", "99999999999999999999"}) {
    EXPECT_FALSE(resolve_options({std::nullopt, {}, {{"micro_batch", text}}})) << '"' << text << '"';
  }
  for (const char* text : {"0", "-1", "nan", "inf", "1e99", "soon"}) {
    EXPECT_FALSE(resolve_options({std::nullopt, {}, {{"deadline", text}}})) << '"' << text << '"';
  }
  EXPECT_EQ(resolve_options({std::nullopt, {}, {{"deadline", "0.5"}}})->options.run.deadline,
            std::chrono::milliseconds{500});
}

TEST_F(resolve, checks_what_concerns_several_options) {
  auto resolved = resolve_options({std::nullopt, {}, {{"model", "m"}, {"data", "npy:a,b"}, {"trace", "true"}}});
  ASSERT_TRUE(resolved);
  EXPECT_EQ(check_together(*resolved).error().code, error_code::flags_contradict);
  EXPECT_TRUE(check_model_given(*resolved));
  resolved = resolve_options({std::nullopt, {}, {{"model", "m"}}});
  EXPECT_TRUE(check_model_given(*resolved));
  EXPECT_EQ(check_together(*resolved).error().where, "--data");
  resolved = resolve_options({std::nullopt, {}, {{"data", "npy:a,b"}}});
  EXPECT_EQ(check_together(*resolved).error().where, "--model");
  EXPECT_EQ(check_model_given(*resolved).error().where, "--model");
}

TEST(resolve_threads, auto_shares_the_cores_and_is_never_none) {
  eval_options options;
  options.stages = 2;
  options.replicas = 3;
  EXPECT_EQ(resolve_threads(options, 12), 2U);
  EXPECT_EQ(resolve_threads(options, 17), 2U);
  EXPECT_EQ(resolve_threads(options, 2), 1U);
  options.run.threads = 5;
  EXPECT_EQ(resolve_threads(options, 2), 5U);
}

TEST(value_text, comes_back_as_the_same_value) {
  for (const option& each : all_options()) {
    const option_value value = *parse_value(each, each.example);
    EXPECT_FALSE(check_value(each, value)) << each.name;
  }
  const option& model = *find_option("model");
  EXPECT_EQ(value_text(model, std::string("a\"b\\c\n")), "\"a\\\"b\\\\c\\u000A\"");
}

TEST(resolve_options, names_in_a_list_may_have_blanks_around_them) {
  const auto resolved = resolve_options({std::nullopt, {}, {{"metrics", "accuracy, f1 ,nll"}}});
  ASSERT_TRUE(resolved) << to_string(resolved.error());
  EXPECT_EQ(resolved->options.metrics, (std::vector<std::string>{"accuracy", "f1", "nll"}));
}

}  // namespace
}  // namespace troupe
