// Goal: models of SentencePiece give the ids and offsets that its own package gives, and damaged ones are errors.
// Method: record_sentencepiece.py has written models and results.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "../../support/paths.hpp"
#include "text_cases.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class sentencepiece_models : public ::testing::Test {
 protected:
  sentencepiece_models() {
    for (const char* kind : {"unigram", "bpe", "plain"}) {
      fs::create_directories(folder_ / kind);
      write(kind, unpacked(recorded_ / (std::string(kind) + ".model.gz")));
    }
  }
  ~sentencepiece_models() override { fs::remove_all(folder_); }
  sentencepiece_models(const sentencepiece_models&) = delete;
  sentencepiece_models& operator=(const sentencepiece_models&) = delete;

  void write(const std::string& kind, const std::string& content) const {
    std::ofstream(folder_ / kind / "spiece.model", std::ios::binary) << content;
  }
  void configure(const std::string& kind, const std::string& content) const {
    std::ofstream(folder_ / kind / "tokenizer_config.json") << content;
  }

  fs::path recorded_ = source_dir() / "tests/runtime/text/recorded";
  fs::path folder_ = fs::temp_directory_path() / ("troupe_sentencepiece_" + std::to_string(::getpid()));
};

TEST_F(sentencepiece_models, give_what_their_package_gives) {
  std::istringstream lines(unpacked(recorded_ / "sentencepiece.jsonl.gz"));
  std::map<std::string, std::shared_ptr<const tokenizer>> opened;
  std::size_t count = 0;
  for (std::string text; std::getline(lines, text); ++count) {
    const json line = json::parse(text);
    auto& by = opened[line.at("k")];
    if (by == nullptr) {
      auto made = tokenizer::open(folder_ / line.at("k").get<std::string>());
      ASSERT_TRUE(made) << to_string(made.error());
      by = *made;
    }
    const std::string given = line.at("t");
    const auto windows = by->encode(given);
    ASSERT_TRUE(windows);
    const encoding& made = windows->front();
    ASSERT_EQ(json(made.ids), line.at("i")) << line.at("k") << " " << line.at("t");
    const auto& spans = made.offsets;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (line.at("o")[i] == -1) continue;
      ASSERT_EQ(json({spans[i].begin, spans[i].end}), line.at("o")[i])
          << line.at("k") << " " << line.at("t") << " token " << i;
    }
  }
  EXPECT_GT(count, 400U);
}

TEST_F(sentencepiece_models, add_the_ends_of_their_kind) {
  const auto ends = [&](const std::string& kind) {
    const auto made = tokenizer::open(folder_ / kind);
    EXPECT_TRUE(made) << to_string(made.error());
    const auto ids = (*made)->encode("the")->front().ids;
    return std::pair(ids.front(), ids.back());
  };
  configure("unigram", R"({"tokenizer_class":"T5Tokenizer","model_max_length":512})");
  EXPECT_EQ(ends("unigram").second, 2U);
  EXPECT_EQ((*tokenizer::open(folder_ / "unigram"))->model_max_length(), 512U);
  configure("bpe", R"({"tokenizer_class":"LlamaTokenizer","add_eos_token":true})");
  EXPECT_EQ(ends("bpe"), std::pair(1U, 2U));
  configure("bpe", R"({"tokenizer_class":"XLNetTokenizer"})");
  EXPECT_EQ(tokenizer::open(folder_ / "bpe").error().code, error_code::tokenizer_unusable);
}

TEST_F(sentencepiece_models, that_are_damaged_are_refused) {
  const std::string whole = unpacked(recorded_ / "bpe.model.gz");
  for (std::size_t size = 0; size < whole.size(); size += 61) {
    write("bpe", whole.substr(0, size));
    const auto made = tokenizer::open(folder_ / "bpe");
    EXPECT_TRUE(!made || (*made)->encode("a b c"));
  }
  for (std::size_t at = 0; at < whole.size(); at += 37) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xFF);
    write("bpe", damaged);
    const auto made = tokenizer::open(folder_ / "bpe");
    if (made) static_cast<void>((*made)->encode("the quick brown fox"));
  }
  for (const char* text :
       {"", "\x0A", "\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", "\xFF", "no model", "\x0A\x03\x0A\x01"}) {
    write("bpe", text);
    EXPECT_FALSE(tokenizer::open(folder_ / "bpe"));
  }
}

}  // namespace
}  // namespace troupe::testing
