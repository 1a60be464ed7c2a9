// Goal: a DeepSpeed configuration gives the options that it means, tells what it does not, and each mistake names its
// place, cause and fix. Method: small texts, with options, lines and columns by hand.
#include "runtime/config/deepspeed_config.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/config/resolve.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class deepspeed_file : public ::testing::Test {
 protected:
  deepspeed_file() : folder_(fs::path(::testing::TempDir()) / ("troupe-deepspeed-" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~deepspeed_file() override { fs::remove_all(folder_); }

  expected<resolved_options> resolve(const std::string& text,
                                     std::vector<std::pair<std::string, std::string>> flags = {}) {
    std::ofstream(folder_ / "ds.json", std::ios::binary) << text;
    return resolve_options({(folder_ / "ds.json").string(), {}, std::move(flags)});
  }
  /// As it is without the folder.
  std::string shown(std::string text) {
    const std::string prefix = folder_.string() + "/";
    for (std::size_t at; (at = text.find(prefix)) != std::string::npos;) text.erase(at, prefix.size());
    return text;
  }

  fs::path folder_;
};

TEST_F(deepspeed_file, gives_options_from_its_keys) {
  const auto resolved = resolve(R"({
    "train_batch_size": 32, "gradient_accumulation_steps": 4,
    "pipeline": {"stages": 3, "partition": "uniform"},
    "fp16": {"enabled": false, "auto_cast": true}, "bf16": {"enabled": true}})");
  ASSERT_TRUE(resolved) << to_string(resolved.error());
  EXPECT_EQ(resolved->options.run.micro_batch, 8U);
  EXPECT_EQ(resolved->options.stages, 3U);
  EXPECT_EQ(resolved->options.partition, "uniform");
  EXPECT_EQ(resolved->options.dtype, "bfloat16");
  EXPECT_THAT(resolved->warnings, IsEmpty());
  EXPECT_EQ(shown(resolved->from("micro_batch").where), "ds.json: train_batch_size");
  EXPECT_EQ(shown(resolved->from("stages").where), "ds.json: pipeline.stages");
  EXPECT_EQ(shown(resolved->from("dtype").where), "ds.json: bf16.enabled");
  EXPECT_EQ(resolved->from("replicas").where, "default");
}

TEST_F(deepspeed_file, has_a_type_of_the_model) {
  const auto type_of = [&](const std::string& keys) {
    const auto resolved = resolve(R"({"train_micro_batch_size_per_gpu": 8, )" + keys + "}");
    return resolved ? resolved->options.dtype : to_string(resolved.error());
  };
  EXPECT_EQ(type_of(R"("fp16": {"enabled": true})"), "float16");
  EXPECT_EQ(type_of(R"("fp16": {})"), "auto");
  EXPECT_EQ(type_of(R"("fp16": null, "bf16": {"enabled": null})"), "auto");
  EXPECT_EQ(type_of(R"("bfloat16": {"enabled": true})"), "bfloat16");
  EXPECT_EQ(type_of(R"("bfloat16": {"enabled": true}, "bf16": {"enabled": false})"), "auto");
  EXPECT_EQ(type_of(R"("bfloat16": {"enabled": true}, "bf16": null)"), "bfloat16");
}

TEST_F(deepspeed_file, takes_best_for_auto) {
  const auto resolved = resolve(R"({"train_batch_size": 8, "pipeline": {"partition": "best"}})");
  ASSERT_TRUE(resolved) << to_string(resolved.error());
  EXPECT_EQ(resolved->options.partition, "auto");
}

TEST_F(deepspeed_file, is_overruled_by_flags_and_counts_their_replicas) {
  constexpr auto text = R"({"train_batch_size": 32, "gradient_accumulation_steps": 2, "pipeline": {"stages": 2}})";
  const auto alone = resolve(text, {{"replicas", "4"}});
  ASSERT_TRUE(alone) << to_string(alone.error());
  EXPECT_EQ(alone->options.run.micro_batch, 4U);
  const auto overruled = resolve(text, {{"micro_batch", "5"}, {"stages", "3"}});
  ASSERT_TRUE(overruled) << to_string(overruled.error());
  EXPECT_EQ(overruled->options.run.micro_batch, 5U);
  EXPECT_EQ(overruled->options.stages, 3U);
  EXPECT_EQ(overruled->from("stages").where, "--stages");
  EXPECT_FALSE(resolve(text, {{"micro_batch", "5"}, {"replicas", "3"}})) << "the file itself has to be right";
}

TEST_F(deepspeed_file, may_leave_the_micro_batch_to_a_flag) {
  constexpr auto text = R"({"train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"})";
  EXPECT_EQ(resolve(text).error().code, error_code::config_bad_value);
  const auto given = resolve(text, {{"micro_batch", "5"}});
  ASSERT_TRUE(given) << to_string(given.error());
  EXPECT_EQ(given->options.run.micro_batch, 5U);
}

TEST_F(deepspeed_file, warns_once_of_all_that_means_nothing) {
  const auto resolved = resolve(R"({
    "train_batch_size": 8, "train_micro_batch_size_per_gpu": "auto",
    "optimizer": {"type": "AdamW", "params": {"lr": "auto"}}, "zero_optimization": {"stage": 2},
    "fp16": {"enabled": "auto", "loss_scale": 0, "initial_scale_power": "auto"},
    "pipeline": {"seed_layers": false, "stages": "auto"}, "steps_per_print": 10})");
  ASSERT_TRUE(resolved) << to_string(resolved.error());
  ASSERT_EQ(resolved->warnings.size(), 2U);
  EXPECT_EQ(shown(resolved->warnings[0]),
            "ds.json: these keys mean nothing in an evaluation and are ignored: optimizer, "
            "zero_optimization, fp16.loss_scale, fp16.initial_scale_power, pipeline.seed_layers, steps_per_print");
  EXPECT_EQ(shown(resolved->warnings[1]),
            "ds.json: \"auto\" counts as not given: train_micro_batch_size_per_gpu, fp16.enabled, pipeline.stages");
}

TEST_F(deepspeed_file, warns_of_a_slip_with_the_name_that_was_meant) {
  const auto resolved = resolve(R"({"train_batchsize": 8, "train_batch_size": 8, "fp16": {"enable": true}})");
  ASSERT_TRUE(resolved) << to_string(resolved.error());
  EXPECT_THAT(resolved->warnings, ElementsAre(HasSubstr("train_batchsize (did you mean train_batch_size?), "
                                                        "fp16.enable (did you mean fp16.enabled?)")));
}

TEST_F(deepspeed_file, has_warnings_of_bounded_length) {
  std::string text = R"({"train_batch_size": 8)";
  for (int i = 0; i < 1000; ++i) text += ", \"" + std::string(40, 'x') + "\\u001b" + std::to_string(i) + "\": 1";
  const auto resolved = resolve(text + "}");
  ASSERT_TRUE(resolved) << to_string(resolved.error());
  ASSERT_EQ(resolved->warnings.size(), 1U);
  EXPECT_THAT(resolved->warnings[0], HasSubstr(" and 960 more"));
  EXPECT_LT(resolved->warnings[0].size(), 5000U);
  EXPECT_EQ(resolved->warnings[0].find('\x1b'), std::string::npos);
}

TEST_F(deepspeed_file, may_have_comments_as_deepspeed_takes_them) {
  const auto resolved = resolve(
      "# \"x\n{ // { y\n \"train_batch_size\": 16, /* , \"z\": [\n */ \"fp16\": {\"enabled\": false}, \"a//b#\": "
      "\"\\\"/*\"}\n#");
  ASSERT_TRUE(resolved) << to_string(resolved.error());
  EXPECT_EQ(resolved->options.run.micro_batch, 16U);
  EXPECT_THAT(resolved->warnings, ElementsAre(HasSubstr("ignored: a//b#")));
}

struct bad_json {
  std::string text;
  error_code code;
  std::string where;
  std::string cause;
  std::string fix;
};

class deepspeed_fault : public ::testing::TestWithParam<bad_json> {};

TEST_P(deepspeed_fault, names_place_cause_and_fix) {
  const auto config = parse_deepspeed_config(GetParam().text, "ds.json");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, GetParam().code);
  EXPECT_EQ(config.error().where, GetParam().where);
  EXPECT_THAT(config.error().cause, HasSubstr(GetParam().cause));
  EXPECT_THAT(config.error().fix, HasSubstr(GetParam().fix));
}

constexpr auto wrong_value = error_code::config_bad_value;
constexpr auto no_json = error_code::config_syntax;
const std::string whole_number = "expected a whole number from 1 to ";
const std::string only_json = "write JSON";

std::string nested(std::size_t times, const std::string& open) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += open;
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    values, deepspeed_fault,
    ::testing::Values(
        bad_json{R"({"train_batch_size": "8"})", wrong_value, "ds.json: train_batch_size",
                 "\"8\", expected a whole number from 1 to 4503599627370496",
                 "write for example \"train_batch_size\": 64"},
        bad_json{R"({"train_batch_size": 0})", wrong_value, "ds.json: train_batch_size", "0, " + whole_number, ": 64"},
        bad_json{R"({"train_batch_size": -8})", wrong_value, "ds.json: train_batch_size", "-8, " + whole_number,
                 ": 64"},
        bad_json{R"({"train_batch_size": 8.0})", wrong_value, "ds.json: train_batch_size", "8.0, " + whole_number,
                 ": 64"},
        bad_json{R"({"train_batch_size": 1e400})", no_json, "ds.json:1:26", "number overflow", only_json},
        bad_json{R"({"train_batch_size": 18446744073709551615})", wrong_value, "ds.json: train_batch_size",
                 whole_number, ""},
        bad_json{R"({"train_batch_size": 99999999999999999999999})", wrong_value, "ds.json: train_batch_size",
                 whole_number, ""},
        bad_json{R"({"train_batch_size": true})", wrong_value, "ds.json: train_batch_size", "true, " + whole_number,
                 ": 64"},
        bad_json{R"({"train_micro_batch_size_per_gpu": 16777217})", wrong_value,
                 "ds.json: train_micro_batch_size_per_gpu", whole_number + "16777216", ": 64"},
        bad_json{R"({"gradient_accumulation_steps": [1]})", wrong_value, "ds.json: gradient_accumulation_steps",
                 "[1], ", ": 1"},
        bad_json{R"({"pipeline": {"stages": 1025}})", wrong_value, "ds.json: pipeline.stages", whole_number + "1024",
                 "write for example \"stages\": 4"},
        bad_json{R"({"pipeline": {"partition": "unifrom"}})", wrong_value, "ds.json: pipeline.partition", "unifrom",
                 "uniform"},
        bad_json{R"({"pipeline": {"partition": ""}})", wrong_value, "ds.json: pipeline.partition", "", ""},
        bad_json{R"({"pipeline": {"partition": 3}})", wrong_value, "ds.json: pipeline.partition", "3, expected a text",
                 ""},
        bad_json{R"({"pipeline": 3})", wrong_value, "ds.json: pipeline", "3, expected an object", "between { and }"},
        bad_json{R"({"fp16": true})", wrong_value, "ds.json: fp16", "true, expected an object", "between { and }"},
        bad_json{R"({"fp16": {"enabled": 1}})", wrong_value, "ds.json: fp16.enabled", "1, expected true or false",
                 "\"enabled\": true"},
        bad_json{R"({"fp16": {"enabled": true}, "bf16": {"enabled": true}})", wrong_value, "ds.json: fp16.enabled",
                 "both this and bf16.enabled are true", "write false for one of them"}));

INSTANTIATE_TEST_SUITE_P(
    texts, deepspeed_fault,
    ::testing::Values(
        bad_json{"", no_json, "ds.json:1:1", "unexpected end of input", only_json},
        bad_json{" // nothing\n", no_json, "ds.json:2:1", "unexpected end of input", only_json},
        bad_json{"[]", no_json, "ds.json", "holds no JSON object", "write for example {"},
        bad_json{"stages = 4\n", no_json, "ds.json:1:1", "syntax error", only_json},
        bad_json{"{\n  \"train_batch_size\": NaN}", no_json, "ds.json:2:23", "invalid literal", only_json},
        bad_json{"{\"ü\": 1,}", no_json, "ds.json:1:9", "syntax error", only_json},
        bad_json{"{\"a\": 1} {}", no_json, "ds.json:1:10", "syntax error", only_json},
        bad_json{"{\"a\": \"\xff\"}", no_json, "ds.json:1:8", "ill-formed UTF-8", only_json},
        bad_json{"{\"a\": 1 /* no end", no_json, "ds.json:1:9", "syntax error", only_json},
        bad_json{R"({"a": 1, "b": {"a": 1, "a": 2}})", no_json, "ds.json", "the key \"a\" is there twice",
                 "leave one of them out"},
        bad_json{nested(10'000, "["), no_json, "ds.json", "more than 16 objects and arrays", only_json},
        bad_json{nested(10'000, "{\"a\":"), no_json, "ds.json", "more than 16 objects and arrays", only_json},
        bad_json{nested(limits::config_nesting_max + 1, "{\"a\":"), no_json, "ds.json", "more than 16", only_json},
        bad_json{nested(limits::config_nesting_max, "["), no_json, "ds.json:1:17", "unexpected end", only_json}));

TEST(deepspeed_text, may_be_damaged_anywhere) {
  const std::string text =
      R"({"train_batch_size": 32, /* x */ "pipeline": {"stages": 2, "partition": "type:a|b"}, "a": [1e3, "\u00e9\\"]} // y)";
  ASSERT_TRUE(parse_deepspeed_config(text, "ds.json"));
  std::size_t refused = 0;
  const auto try_out = [&](const std::string& damaged) {
    const auto config = parse_deepspeed_config(damaged, "ds.json");
    if (config) return;
    ++refused;
    EXPECT_TRUE(config.error().code == no_json || config.error().code == wrong_value) << damaged;
    EXPECT_THAT(config.error().where, ::testing::StartsWith("ds.json"));
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    try_out(text.substr(0, at));
    for (const char c : std::string("\0\"\\/#{[\xff", 8)) try_out(text.substr(0, at) + c + text.substr(at + 1));
  }
  EXPECT_GT(refused, 5 * text.size());
}

TEST_F(deepspeed_file, is_a_file_of_bounded_size) {
  EXPECT_EQ(resolve(std::string(limits::config_bytes_max + 1, ' ')).error().code, no_json);
  EXPECT_EQ(read_deepspeed_config((folder_ / "none.json").string()).error().code, error_code::config_missing);
  fs::create_directories(folder_ / "folder.json");
  const auto folder = read_deepspeed_config((folder_ / "folder.json").string());
  EXPECT_EQ(folder.error().code, error_code::config_missing);
  EXPECT_THAT(folder.error().cause, HasSubstr("is a directory"));
  EXPECT_THAT(folder.error().fix, HasSubstr("name a DeepSpeed configuration"));
}

}  // namespace
}  // namespace troupe
