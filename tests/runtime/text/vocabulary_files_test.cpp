// Goal: vocab.txt, and vocab.json with merges.txt, give what the tokenizer.json of the same vocabulary gives, which
// recorded_texts_test.cpp compares with the package; windows and padding suit questions with their contexts.
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "../../support/paths.hpp"
#include "text_cases.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class vocabulary_files : public ::testing::Test {
 protected:
  vocabulary_files() {
    fs::create_directories(folder_ / "one");
    unpack_tokenizers(folder_);
  }
  ~vocabulary_files() override { fs::remove_all(folder_); }
  vocabulary_files(const vocabulary_files&) = delete;
  vocabulary_files& operator=(const vocabulary_files&) = delete;

  void write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / "one" / name) << content;
  }
  [[nodiscard]] json parsed(const std::string& kind) const {
    return json::parse(std::ifstream(folder_ / (kind + ".json")));
  }
  [[nodiscard]] std::shared_ptr<const tokenizer> opened(const fs::path& place) const {
    auto made = tokenizer::open(place);
    return made ? *made : (ADD_FAILURE() << to_string(made.error()), nullptr);
  }
  void write_byte_pairs(const std::string& kind) const {
    const json model = parsed(kind).at("model");
    json vocabulary = model.at("vocab");
    const json added = parsed(kind).at("added_tokens");
    for (const json& each : added) vocabulary[each.at("content").get<std::string>()] = each.at("id");
    write("vocab.json", vocabulary.dump());
    std::string merges = "#version: 0.2\n";
    for (const json& pair : model.at("merges")) {
      merges += pair[0].get<std::string>() + " " + pair[1].get<std::string>() + "\n";
    }
    write("merges.txt", merges);
  }
  void expect_equal(const std::string& kind) const {
    const auto wanted = opened(folder_ / (kind + ".json"));
    const auto made = opened(folder_ / "one");
    ASSERT_TRUE(wanted != nullptr && made != nullptr);
    for (const char* text : {"The quick brown fox, isn't it?", "caf\xC3\xA9 \xE6\x95\x8F\xE6\x8D\xB7 <mask> [MASK] x",
                             "a  b\n\nc 123 ", ""}) {
      EXPECT_EQ(*made->encode(text), *wanted->encode(text)) << text;
      EXPECT_EQ(*made->encode_pair(text, "and so on"), *wanted->encode_pair(text, "and so on")) << text;
    }
    EXPECT_EQ(made->vocabulary_size(), wanted->vocabulary_size());
  }

  fs::path folder_ = fs::temp_directory_path() / ("troupe_vocabulary_" + std::to_string(::getpid()));
};

TEST_F(vocabulary_files, of_bert) {
  for (const char* kind : {"bert_uncased", "bert_cased"}) {
    const auto whole = opened(folder_ / (std::string(kind) + ".json"));
    ASSERT_NE(whole, nullptr);
    std::string lines;
    for (token_id id = 0; id < whole->vocabulary_size(); ++id) lines += *whole->id_to_token(id) + "\n";
    write("vocab.txt", lines);
    write("tokenizer_config.json",
          kind == std::string("bert_cased") ? R"({"do_lower_case":false,"model_max_length":384})" : "{}");
    expect_equal(kind);
    EXPECT_EQ(opened(folder_ / "one")->pad_id(), 0U);
  }
  EXPECT_EQ(opened(folder_ / "one")->model_max_length(), 384U);
}

TEST_F(vocabulary_files, of_byte_pairs) {
  write_byte_pairs("gpt2");
  expect_equal("gpt2");
  write_byte_pairs("roberta");
  write("config.json", R"({"model_type":"roberta"})");
  expect_equal("roberta");
  write("tokenizer_config.json", R"({"tokenizer_class":"RobertaTokenizer","add_prefix_space":true})");
  write_byte_pairs("roberta_space");
  expect_equal("roberta_space");
  write("tokenizer_config.json", R"({"tokenizer_class":"Qwen2Tokenizer"})");
  write_byte_pairs("qwen2");
  expect_equal("qwen2");
}

TEST_F(vocabulary_files, give_windows_over_a_context) {
  const auto by = opened(folder_ / "bert_uncased.json");
  ASSERT_NE(by, nullptr);
  const std::string context = "the lazy dog jumps over the quick brown fox and the dog";
  encode_options options;
  options.truncate = truncation{.max_length = 16, .strategy = truncation_strategy::only_second, .stride = 4};
  options.pad = padding{.length = 16};
  const auto windows = by->encode_pair("the dog?", context, options);
  ASSERT_TRUE(windows);
  ASSERT_GT(windows->size(), 2U);
  std::uint32_t covered = 0;
  for (const encoding& window : *windows) {
    ASSERT_EQ(window.size(), 16U);
    EXPECT_EQ(window.ids[0], *by->token_to_id("[CLS]"));
    for (std::size_t i = 0; i < window.size(); ++i) {
      if (window.sequence[i] != 1) continue;
      EXPECT_EQ(window.type_ids[i], 1U);
      EXPECT_LE(window.offsets[i].begin, covered + 1) << "no part of the context is left out";
      covered = std::max(covered, window.offsets[i].end);
    }
  }
  EXPECT_EQ(covered, context.size());
}

}  // namespace
}  // namespace troupe::testing
