// Goal: texts that are damaged or hostile end with an error that names file and place. Method: one file for each.
#include <fstream>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_files.hpp"
#include "tests/support/paths.hpp"
#include <troupe/data_set.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

struct bad_text {
  const char* name;
  std::string data;
  std::string content;
  error_code code;
  const char* cause;
};

void PrintTo(const bad_text& one, std::ostream* into) {
  *into << one.name;
}

std::string folder_of(const std::string& model) {
  return "tokenizer=" + (data_dir() / "text" / model).string();
}

std::vector<bad_text> bad_labels_of_texts() {
  const std::string reviews = ",text=t,label=l," + folder_of("classifier");
  constexpr error_code format = error_code::data_bad_format;
  return {
      {"ragged_label", "jsonl:FILE,text=t,target=l," + folder_of("classifier"),
       "{\"t\":\"a\",\"l\":[0,1]}\n{\"t\":\"b\",\"l\":[1]}\n", format, "line 2, column l: expected 2 numbers"},
      {"text_in_label", "jsonl:FILE,text=t,target=l," + folder_of("classifier"), "{\"t\":\"a\",\"l\":[0,\"x\"]}\n",
       format, "line 1, column l"},
      {"empty_label", "jsonl:FILE,text=t,target=l," + folder_of("classifier"), "{\"t\":\"a\",\"l\":[]}\n", format,
       "line 1, column l"},
      {"nan_in_labels", "csv:FILE,text=t,target=l+m," + folder_of("classifier"), "t,l,m\na,0,nan\n", format,
       "line 2, column m"},
      {"array_as_class", "jsonl:FILE" + reviews, "{\"t\":\"a\",\"l\":[0,1]}\n", format, "write target=l"},
      {"two_groups", "csv:FILE,text=t,target=x:l+y:m," + folder_of("classifier"), "t,l,m\na,0,1\n",
       error_code::value_out_of_range, "target=A+B"},
      {"two_scores", "csv:FILE,text=t,pair=t,each-alone,target=l+m," + folder_of("classifier"), "t,l,m\na,0,1\n",
       error_code::value_out_of_range, "one score"},
      {"ignored_numbers", "csv:FILE,text=t,target=l+m,ignore=1," + folder_of("classifier"), "t,l,m\na,0,1\n",
       error_code::value_out_of_range, "ignore="},
      {"no_id", "csv:FILE,id=who" + reviews, "t,l\na,0\n", error_code::data_missing, "who"},
      {"semicolons", "csv:FILE" + reviews, "t;l\na;0\n", format, R"(separator=";")"},
  };
}

std::vector<bad_text> bad_texts() {
  const std::string language = "," + folder_of("language");
  const std::string reviews = ",text=t,label=l," + folder_of("classifier");
  const auto line = [](const std::string& choices, const std::string& gold) {
    return R"({"context": "The cat eats", "choices": )" + choices + ", \"gold\": " + gold + "}\n";
  };
  constexpr error_code format = error_code::data_bad_format;
  constexpr error_code label = error_code::data_label_out_of_range;
  std::string many = "[\"a\"";
  for (int i = 0; i < 4096; ++i) many += ",\"a\"";
  return {
      {"no_tokenizer", "text:FILE", "words", error_code::value_out_of_range, "which tokenizer"},
      {"no_such_folder", "text:FILE,tokenizer=/nowhere", "words", error_code::model_missing, "nowhere"},
      {"unknown_input", "text:FILE,inputs=pixels" + language, "words", error_code::unknown_name, "pixels"},
      {"gaps", "text:FILE,block=8,stride=9" + language, "words", error_code::value_out_of_range, "stride of 9"},
      {"empty_text", "text:FILE" + language, "", error_code::data_empty, ""},
      {"one_token", "text:FILE" + language, "a", error_code::data_empty, "1 tokens"},
      {"latin_1", "text:FILE" + language, "na\xefve\n", format, "no UTF-8"},
      {"half_a_character", "text:FILE" + language, "abc\n\xe2\x82", format, "no UTF-8"},
      {"surrogate", "text:FILE" + language, "\xed\xa0\x80", format, "no UTF-8"},
      {"no_column", "csv:FILE,text=words" + language, "t,l\na,0\n", error_code::data_missing, "words"},
      {"tokenizer_without_text", "csv:FILE,label=l" + language, "t,l\n1,0\n", error_code::value_out_of_range, "text="},
      {"columns_and_text", "csv:FILE,columns=t" + reviews, "t,l\na,0\n", error_code::value_out_of_range, "columns="},
      {"alone_without_pair", "csv:FILE,each-alone" + reviews, "t,l\na,0\n", error_code::value_out_of_range,
       "each-alone"},
      {"two_labels", "csv:FILE,target=u" + reviews, "t,l,u\na,0,1\n", error_code::value_out_of_range, "one label"},
      {"no_text", "csv:FILE" + reviews, "t,l\na,0\n,1\n", format, "no value"},
      {"no_label", "csv:FILE" + reviews, "t,l\na,0\nb,\n", format, "no value"},
      {"unknown_class", "csv:FILE" + reviews, "t,l\na,positive\nb,postive\n", label, "postive"},
      {"negative_class", "csv:FILE" + reviews, "t,l\na,0\nb,-1\n", label, "-1"},
      {"no_number", "csv:FILE,text=t,target=l," + folder_of("classifier"), "t,l\na,good\n", format, "number"},
      {"bad_utf8_cell", "csv:FILE" + reviews, "t,l\n\xff,0\n", format, ""},
      {"no_choices", "choices:FILE" + language, line("[]", "0"), format, "no choices"},
      {"choices_text", "choices:FILE" + language, line("\"fish\"", "0"), format, "array"},
      {"choices_numbers", "choices:FILE" + language, line("[1, 2]", "0"), format, "no text"},
      {"empty_choice", "choices:FILE" + language, line(R"(["fish", ""])", "0"), format, "empty"},
      {"many_choices", "choices:FILE" + language, line(many + "]", "0"), format, "4096"},
      {"gold_too_large", "choices:FILE" + language, line(R"(["fish", "hay"])", "2"), label, "from 0 to 1"},
      {"gold_negative", "choices:FILE" + language, line(R"(["fish", "hay"])", "-1"), label, "from 0 to 1"},
      {"gold_text", "choices:FILE" + language, line(R"(["fish", "hay"])", "\"hay\""), label, "hay"},
      {"gold_half", "choices:FILE" + language, line(R"(["fish", "hay"])", "0.5"), label, "0.5"},
      {"no_gold", "choices:FILE" + language, R"({"context": "a", "choices": ["b"]})", format, "gold"},
      {"no_context", "choices:FILE" + language, R"({"choices": ["b"], "gold": 0})", format, "context"},
      {"context_of_spaces", "choices:FILE" + language, R"({"context": "  ", "choices": ["b"], "gold": 0})", format,
       "no token"},
      {"no_beginning", "choices:FILE," + folder_of("classifier"), R"({"context": "", "choices": ["b"], "gold": 0})",
       format, "beginning"},
      {"choice_too_long", "choices:FILE,max-length=3" + language, line(R"(["a very long choice of words"])", "0"),
       format, "at most"},
      {"huge_row", "choices:FILE" + language, line("[\"" + std::string(17 << 20, 'a') + "\"]", "0"), format, "bytes"},
  };
}

class bad_text_files : public ::testing::TestWithParam<bad_text> {};

TEST_P(bad_text_files, are_errors_that_name_the_file) {
  const bad_text& one = GetParam();
  const scratch_directory directory;
  const std::string file = directory / "file";
  std::ofstream(file, std::ios::binary) << one.content;
  std::string data = one.data;
  data.replace(data.find("FILE"), 4, file);
  const auto opened = open_data(data);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, one.code) << to_string(opened.error());
  EXPECT_THAT(to_string(opened.error()), HasSubstr(one.cause));
  EXPECT_FALSE(opened.error().fix.empty());
}

INSTANTIATE_TEST_SUITE_P(labels, bad_text_files, ::testing::ValuesIn(bad_labels_of_texts()),
                         [](const auto& one) { return std::string(one.param.name); });
INSTANTIATE_TEST_SUITE_P(all, bad_text_files, ::testing::ValuesIn(bad_texts()),
                         [](const auto& one) { return std::string(one.param.name); });

/// Lines of a megabyte, in a text and in a cell, are no errors.
TEST(long_lines, are_read) {
  const scratch_directory directory;
  const std::string file = directory / "file";
  std::string words;
  while (words.size() < (3 << 20)) words += "the cat eats fish and ";
  std::ofstream(file, std::ios::binary) << words;
  const auto text = open_data("text:" + file + "," + folder_of("language"));
  ASSERT_TRUE(text) << to_string(text.error());
  std::ofstream(file, std::ios::binary) << "t,l\n" << words << ",0\n";
  const auto table = open_data("csv:" + file + ",text=t,label=l," + folder_of("classifier"));
  ASSERT_TRUE(table) << to_string(table.error());
  EXPECT_EQ((*table)->sample_shape().front(), 64) << "the model's length";
  EXPECT_EQ((*table)->remarks().size(), 1U);
}

}  // namespace
}  // namespace troupe::testing
