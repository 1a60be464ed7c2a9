// Goal: a damaged, hostile or unsupported tokenizer is an error that names its part, in bounded time and memory.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include "../../support/paths.hpp"
#include "../../support/peak_memory.hpp"
#include "../../support/sanitized.hpp"
#include "text_cases.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string repeated(const std::string& part, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += part;
  return all;
}

/// A small tokenizer with some of its parts replaced.
std::string with(const std::string& model, const std::string& others = "") {
  return R"({"version":"1.0","model":)" + model + (others.empty() ? "" : "," + others) + "}";
}
const std::string word_level = R"({"type":"WordLevel","unk_token":"u","vocab":{"u":0,"a":1}})";
std::string with_part(const std::string& name, const std::string& part) {
  return with(word_level, "\"" + name + "\":" + part);
}
std::string split(const std::string& expression) {
  return with_part("pre_tokenizer", R"({"type":"Split","behavior":"Isolated","invert":false,"pattern":{"Regex":")" +
                                        expression + "\"}}");
}
std::string bpe(const std::string& rest) {
  return with(R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},)" + rest + "}");
}

class hostile_tokenizers : public ::testing::Test {
 protected:
  hostile_tokenizers() { fs::create_directories(folder_); }
  ~hostile_tokenizers() override { fs::remove_all(folder_); }
  hostile_tokenizers(const hostile_tokenizers&) = delete;
  hostile_tokenizers& operator=(const hostile_tokenizers&) = delete;

  fs::path write(const std::string& name, const std::string& content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  void expect_error(const std::string& content, error_code code, const std::string& part,
                    const std::string& name = "tokenizer.json") const {
    const auto made = tokenizer::open(write(name, content));
    ASSERT_FALSE(made) << content.substr(0, 300);
    EXPECT_EQ(code_name(made.error().code), code_name(code)) << to_string(made.error());
    EXPECT_THAT(to_string(made.error()), HasSubstr(part));
    EXPECT_FALSE(made.error().fix.empty());
  }
  [[nodiscard]] std::shared_ptr<const tokenizer> opened(const std::string& content) const {
    auto made = tokenizer::open(write("tokenizer.json", content));
    return made ? *made : (ADD_FAILURE() << to_string(made.error()), nullptr);
  }

  fs::path folder_ = fs::temp_directory_path() / ("troupe_hostile_text_" + std::to_string(::getpid()));
};

TEST_F(hostile_tokenizers, that_are_no_json) {
  constexpr auto damaged = error_code::model_unreadable;
  for (const char* text : {"", " ", "{", "{\"model\"", "[1,2", "nul", "{\"a\":1}}", "\xFF\xFE", "{\"a\":\"\xC3\"}",
                           "{\"a\":\"\\ud800\"}", "{\"a\":1e}", "{'a':1}"}) {
    expect_error(text, damaged, "no JSON");
  }
  for (const char* text : {"1", "null", "\"a\"", "[]", "{}", "{\"model\":null}", "{\"model\":[]}", "{\"model\":{}}"}) {
    expect_error(text, damaged, "tokenizer");
  }
  const std::string whole = with(word_level);
  for (std::size_t size = 0; size < whole.size(); ++size) expect_error(whole.substr(0, size), damaged, "no JSON");
}

TEST_F(hostile_tokenizers, that_are_beyond_the_limits) {
  constexpr auto beyond = error_code::model_beyond_limits;
  expect_error(repeated("[", 100'000), beyond, "deep");
  expect_error(repeated("{\"a\":", 100'000), beyond, "deep");
  expect_error("{\"normalizer\":" + repeated("{\"type\":\"Sequence\",\"normalizers\":[", 10'000), beyond, "deep");
  expect_error("{\"a\":[" + repeated("[],", 500'000) + "0]}", beyond, "memory");
  std::string tokens;
  for (std::size_t i = 0; i < (1U << 20) + 10; ++i)
    tokens += "\"" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  expect_error(R"({"model":{"vocab":{)" + tokens + "\"z\":1}}}", beyond, "tokens");
  const std::string many = repeated(R"({"type":"Split","behavior":"Isolated","pattern":{"Regex":"[\\w]x"}},)", 2000);
  expect_error(with_part("pre_tokenizer", R"({"type":"Sequence","pretokenizers":[)" + many + R"({"type":"Digits"}]})"),
               beyond, "8192");
  const std::string replaces = repeated(R"({"type":"Replace","content":"","pattern":{"Regex":""}},)", 9000);
  expect_error(with_part("normalizer", R"({"type":"Sequence","normalizers":[)" + replaces + R"({"type":"NFC"}]})"),
               beyond, "8192");
  expect_error(with_part("added_tokens", R"([{"id":2,"content":")" + std::string(5 << 20, 'x') + "\"}]"), beyond,
               "4194304");
  const std::string merges = repeated("\"a b\",", (1U << 20) + 10);
  expect_error(R"({"model":{"merges":[)" + merges + "\"a b\"]}}", beyond, "merges");
}

TEST_F(hostile_tokenizers, whose_vocabulary_is_wrong) {
  constexpr auto damaged = error_code::model_unreadable;
  constexpr auto unfit = error_code::tokenizer_unusable;
  for (const char* id : {"-1", "1.5", "\"1\"", "null", "4294967295", "18446744073709551616", "[]", "{}"}) {
    expect_error(with(R"({"type":"WordLevel","unk_token":"u","vocab":{"u":)" + std::string(id) + "}}"), damaged,
                 "damaged");
  }
  for (const char* item : {"1", "[\"a\"]", "[\"a\",1,2]", "[1,\"a\"]", "[\"a\",\"b\"]", "[]", "{}", "null"}) {
    expect_error(with(R"({"type":"Unigram","unk_id":0,"vocab":[)" + std::string(item) + "]}"), damaged, "damaged");
  }
  expect_error(with(R"({"type":"Unigram","unk_id":7,"vocab":[["a",-1]]})"), unfit, "unk_id");
  expect_error(with(R"({"type":"Unigram","unk_id":-1,"vocab":[["a",-1]]})"), damaged, "unk_id");
  expect_error(with(R"({"type":"WordLevel","unk_token":"u"})"), damaged, "no vocabulary");
  expect_error(with(R"({"type":"WordLevel","unk_token":"u","vocab":[["u",0.5]]})"), damaged, "scores");
  expect_error(with(R"({"type":"WordPiece","vocab":{"u":0}})"), damaged, "unk_token");
  expect_error(with(R"({"type":"Morse","vocab":{"u":0}})"), unfit, "Morse");
  expect_error(with(R"({"type":"WordLevel","unk_token":"u","vocab":{"u":0},"other":1})"), unfit, "other");
  expect_error(with(word_level, R"("added_tokens":[{"id":5,"content":"x"}])"), unfit, "has the id 5");
  expect_error(with(word_level, R"("added_tokens":[{"id":-2,"content":"x"}])"), damaged, "between");
  expect_error(with(word_level, R"("other":1)"), unfit, "other");
  expect_error(R"({"version":"2.0","model":)" + word_level + "}", unfit, "2.0");
}

TEST_F(hostile_tokenizers, whose_merges_are_wrong) {
  constexpr auto damaged = error_code::model_unreadable;
  constexpr auto unfit = error_code::tokenizer_unusable;
  expect_error(bpe(R"("merges":["a c"])"), unfit, "\"c\"");
  expect_error(bpe(R"("merges":[["b","a"]])"), unfit, "\"ba\"");
  expect_error(bpe(R"("merges":["ab"])"), damaged, "no pair");
  expect_error(bpe(R"("merges":["a b c"])"), damaged, "no pair");
  expect_error(bpe(R"("merges":[["a"]])"), damaged, "two parts");
  expect_error(bpe(R"("merges":[["a","b","ab"]])"), damaged, "two parts");
  expect_error(bpe(R"("merges":[1])"), damaged, "another type");
  expect_error(bpe(R"("merges":{"a":"b"})"), unfit, "merges");
  expect_error(bpe(R"("unk_token":null)"), damaged, "merges");
  expect_error(bpe(R"("merges":["a b"],"dropout":0.1)"), unfit, "dropout");
  // A cycle: what "a" and "" give is "a" again. Each merge makes a word shorter, so that it ends.
  const auto cyclic =
      opened(with(R"({"type":"BPE","vocab":{"":0,"a":1,"b":2,"ab":3},"merges":[["a",""],["","a"],["a","b"]]})"));
  ASSERT_NE(cyclic, nullptr);
  EXPECT_THAT(cyclic->encode("ababa")->front().ids, ::testing::ElementsAre(3, 3, 1));
}

TEST_F(hostile_tokenizers, take_little_more_memory_than_their_files) {
  if (instrumented) GTEST_SKIP() << "without a sanitizer only: it keeps what is freed, and room around each block";
  constexpr std::size_t count = (1U << 20) - 300;
  std::string tokens;
  std::string scores;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    tokens += (i > 0 ? ",\"" : "\"") + number + "\":" + number;
    scores += (i > 0 ? ",[\"" : "[\"") + number + "\",0]";
  }
  const std::string merges = repeated("\"1 2\",", count);
  const std::string word_piece = R"({"type":"WordPiece","unk_token":"u","continuing_subword_prefix":"1","vocab":{)";
  for (const std::string& content :
       {with(word_piece + tokens + "}}"), with(R"({"type":"Unigram","vocab":[)" + scores + "]}"),
        with(R"({"type":"BPE","vocab":{)" + tokens + "},\"merges\":[" + merges + "\"1 2\"]}")}) {
    const fs::path file = write("tokenizer.json", content);
    reset_peak();
    const std::uint64_t before = memory_now("VmRSS");
    ASSERT_TRUE(tokenizer::open(file));
    EXPECT_LT(memory_now("VmHWM") - before, 2 * content.size() + (64U << 20)) << content.substr(0, 60);
  }
}

/// Within the limit of all expressions; each of these takes more memory than others of its length.
TEST_F(hostile_tokenizers, take_bounded_memory_for_expressions_and_added_tokens) {
  if (instrumented) GTEST_SKIP() << "without a sanitizer only: it keeps what is freed, and room around each block";
  const auto parts = [](const std::string& part, std::size_t count) {
    return with_part("pre_tokenizer", R"({"type":"Sequence","pretokenizers":[)" + repeated(part + ",", count) +
                                          R"({"type":"Digits","individual_digits":true}]})");
  };
  const auto split_by = [](const std::string& expression) {
    return R"({"type":"Split","behavior":"Isolated","pattern":{"Regex":")" + expression + "\"}}";
  };
  // libraries and tables that every tokenizer needs
  ASSERT_NE(opened(parts(split_by("(?i)[\\\\w]"), 1)), nullptr);
  const std::string tokens = repeated(R"({"id":1,"content":"a","normalized":true},)", 9000);
  std::string long_tokens;
  for (int i = 0; i < 16; ++i) {
    long_tokens += R"({"id":)" + std::to_string(2 + i) + R"(,"content":")" +
                   std::string(1, static_cast<char>('b' + i)) + std::string((1 << 18) - 2, 'x') + "\"},";
  }
  const std::string last = R"({"id":0,"content":"u"}])";
  for (const std::string& content :
       {parts(split_by("(?i)" + repeated("[\\\\w]", 340)), 1), parts(split_by(repeated("[\\\\w]", 1000)), 2),
        parts(split_by("\\\\p{L}"), 1600), parts(split_by("a"), 8000), parts(R"({"type":"ByteLevel"})", 20'000),
        with(word_level, "\"added_tokens\":[" + tokens + last),
        with(word_level, "\"added_tokens\":[" + long_tokens + last)}) {
    const fs::path file = write("tokenizer.json", content);
    ::malloc_trim(0);  // what an earlier one has given back would hide what this one takes
    reset_peak();
    const std::uint64_t before = memory_now("VmRSS");
    const auto made = tokenizer::open(file);
    EXPECT_TRUE(made) << to_string(made.error());
    EXPECT_LT(memory_now("VmHWM") - before, 2 * content.size() + (64U << 20)) << content.substr(0, 200);
  }
}

TEST_F(hostile_tokenizers, whose_parts_are_not_supported) {
  constexpr auto unfit = error_code::tokenizer_unusable;
  for (const char* name : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    expect_error(with_part(name, R"({"type":"Unheard"})"), unfit, "Unheard");
    expect_error(with_part(name, R"({})"), error_code::model_unreadable, "type");
    expect_error(with_part(name, R"([])"), error_code::model_unreadable, "no object");
  }
  expect_error(with_part("normalizer", R"({"type":"NFC","extra":1})"), unfit, "extra");
  expect_error(with_part("pre_tokenizer", R"({"type":"Punctuation","behavior":"Odd"})"), unfit, "Odd");
  expect_error(with_part("pre_tokenizer", R"({"type":"Metaspace","replacement":"ab"})"), unfit, "one character");
  expect_error(with_part("pre_tokenizer", R"({"type":"Split","behavior":"Isolated","pattern":{"Glob":"*"}})"), unfit,
               "Glob");
  expect_error(with_part("truncation", R"({"max_length":-1,"stride":0})"), error_code::model_unreadable, "between");
  expect_error(with_part("truncation", R"({"max_length":9,"stride":0,"strategy":"Odd"})"), unfit, "Odd");
  expect_error(with_part("padding", R"({"strategy":{"Fixed":99999999999},"pad_id":0})"), error_code::model_unreadable,
               "between");
  const std::string token = R"("special_tokens":{"x":{"id":"x","ids":[0],"tokens":["x"]}})";
  const std::string head = R"({"type":"TemplateProcessing","pair":[],)" + token + ",\"single\":[";
  expect_error(with_part("post_processor", head + R"({"SpecialToken":{"id":"y","type_id":0}}]})"), unfit, "\"y\"");
  expect_error(with_part("post_processor", head + R"({"Sequence":{"id":"B","type_id":0}}]})"),
               error_code::model_unreadable, "text");
  for (const char* map : {"", "AAAA", "!!!!", "////////", "BAAAAP//////", "AAAAAMM="}) {
    const std::string part = R"({"type":"Precompiled","precompiled_charsmap":")" + std::string(map) + "\"}";
    const auto made = tokenizer::open(write("tokenizer.json", with_part("normalizer", part)));
    EXPECT_TRUE(!made || (*made)->encode("a\xC3\xA9 b")) << map;
  }
}

TEST_F(hostile_tokenizers, whose_expressions_are_broken) {
  for (const char* expression :
       {"(", ")", "[", "[]", "[a", "*", "a|*", "a{0,100001}", "(a)\\\\2", "\\\\k<n>", "\\\\", "[b-a]", "\\\\p{Nothing}",
        "(?", "(?z)", "(?<1>a)", "(*BAD)", "(?<=(?<!a)b)", "[[:nothing:]]"}) {
    expect_error(split(expression), error_code::tokenizer_unusable, "regular expression");
  }
  expect_error(split(repeated("(", 1000) + repeated(")", 1000)), error_code::tokenizer_unusable, "depth");
  expect_error(split(repeated("[", 1000)), error_code::tokenizer_unusable, "depth");
  expect_error(split("(?:(?:(?:a{1000}){1000}){1000}){1000}"), error_code::tokenizer_unusable, "too big");
  expect_error(split(repeated("a|", 5000)), error_code::model_beyond_limits, "8192");
  // Compiled, it would have 2^40 letters.
  std::string calls = "(?<n0>a)";
  for (int i = 1; i < 40; ++i) {
    const std::string former = "\\\\g<n" + std::to_string(i - 1) + ">";
    calls += "(?<n" + std::to_string(i) + ">" + former + former + ")";
  }
  expect_error(split(calls), error_code::tokenizer_unusable, "calls");
}

TEST_F(hostile_tokenizers, whose_expressions_take_for_ever) {
  using clock = std::chrono::steady_clock;
  for (const char* expression :
       {"(?:a|aa)+[bc]", "(?:.*a){12}[bc]", "(?=(?:a|aa)+[bc])", "(?:(?:(?:a|b){1000}){1000}){1000}", "(?<=a\\\\Ka)"}) {
    const auto made = opened(split(expression));
    ASSERT_NE(made, nullptr);
    const auto start = clock::now();
    const auto encoded = made->encode(repeated("a", 5000));
    EXPECT_LT(std::chrono::duration<double>(clock::now() - start).count(), 20) << expression;
    ASSERT_FALSE(encoded) << expression;
    EXPECT_EQ(encoded.error().code, error_code::data_bad_format);
    EXPECT_THAT(encoded.error().cause, HasSubstr("regular expression"));
  }
}

TEST_F(hostile_tokenizers, get_texts_that_are_wrong) {
  const auto made = opened(with(R"({"type":"WordLevel","unk_token":"none","vocab":{"a":1}})"));
  ASSERT_NE(made, nullptr);
  for (const char* text :
       {"\xFF", "a\x80", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "ab\xE4\xB8", "\xF0\x9F\x91"}) {
    const auto encoded = made->encode(text);
    ASSERT_FALSE(encoded);
    EXPECT_EQ(encoded.error().code, error_code::data_bad_format);
    EXPECT_THAT(encoded.error().cause, HasSubstr("UTF-8"));
  }
  EXPECT_THAT(made->encode("b").error().cause, HasSubstr("no token"));
  EXPECT_TRUE(made->encode("a"));
  const auto no_room = made->encode_pair("a", "a", {.truncate = truncation{.max_length = 1}});
  ASSERT_FALSE(no_room);
  EXPECT_EQ(no_room.error().code, error_code::value_out_of_range);
}

TEST_F(hostile_tokenizers, that_are_other_files) {
  constexpr auto unfit = error_code::tokenizer_unusable;
  EXPECT_EQ(tokenizer::open(folder_).error().code, error_code::model_missing);
  EXPECT_EQ(tokenizer::open(folder_ / "none.json").error().code, error_code::model_missing);
  expect_error("[UNK]\n\xFF\n", unfit, "UTF-8", "vocab.txt");
  expect_error("[UNK]\na\n", unfit, "[CLS]", "vocab.txt");
  write("merges.txt", "#version: 0.2\na b\nabc\n");
  expect_error(R"({"a":0,"b":1,"ab":2})", unfit, "line 3", "vocab.json");
  write("merges.txt", "a b\nb a\n");
  expect_error(R"({"a":0,"b":1,"ab":2})", unfit, "\"ba\"", "vocab.json");
  expect_error(R"([["a",1]])", error_code::model_unreadable, "damaged", "vocab.json");
  expect_error(R"({"a":{}})", error_code::model_unreadable, "damaged", "vocab.json");
  write("tokenizer_config.json", R"({"tokenizer_class":"OddTokenizer"})");
  expect_error(R"({"a":0,"b":1,"ab":2})", unfit, "OddTokenizer", "vocab.json");
  write("tokenizer_config.json", "{");
  EXPECT_EQ(tokenizer::open(write("tokenizer.json", with(word_level))).error().code, error_code::model_unreadable);
}

}  // namespace
}  // namespace troupe::testing
