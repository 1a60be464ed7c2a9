// Goal: no table crashes the reader or takes more memory than it may, and each mistake names file, line and column.
// Method: hostile files, each with the words that its error must have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_files.hpp"
#include <troupe/data_set.hpp>

namespace troupe {
namespace {

using ::testing::HasSubstr;
using testing::scratch_directory;

struct bad_table {
  const char* name;
  const char* kind;
  std::string content;
  std::string options;
  error_code code;
  std::vector<std::string> words;
};

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

/// A header of so many columns, and a row.
std::string many_columns(std::size_t columns) {
  std::string names;
  for (std::size_t i = 0; i < columns; ++i) names += "c" + std::to_string(i) + ",";
  return names + "label\n" + repeated("1,", columns) + "0\n";
}

const auto format = error_code::data_bad_format;
const auto label = error_code::data_label_out_of_range;
const auto usage = error_code::value_out_of_range;

std::vector<bad_table> bad_csv() {
  return {
      {"quote_not_closed", "csv", "x,label\n1,0\n\"2,1\n3,0\n", "", format, {"line 3, column 1", "not closed"}},
      {"text_behind_quote", "csv", "x,label\n\"1\"2,0\n", "", format, {"line 2, column 1", "behind the quote"}},
      {"nul", "csv", std::string("x,label\n1\0,0\n", 13), "", format, {"line 2, column 1", "NUL"}},
      {"utf16", "csv", std::string("\xff\xfex\0,\0", 6), "", format, {"line 1, column 1", "UTF-8"}},
      {"bad_utf8", "csv", "x,t,label\n1,a\xc3(,0\n", "", format, {"line 2, column 2", "UTF-8"}},
      {"surrogate", "csv", "x,t,label\n1,\xed\xa0\x80,0\n", "", format, {"line 2, column 2"}},
      {"overlong", "csv", "x,t,label\n1,\xc0\xaf,0\n", "", format, {"line 2, column 2"}},
      {"two_columns_of_one_name", "csv", "x,x,label\n1,2,0\n", "", format, {"line 1, column 2", "second column"}},
      {"column_without_name", "csv", "x,,label\n1,2,0\n", "", format, {"column 2 has no name", "columns=x+label"}},
      {"semicolons", "csv", "x;y;label\n1;2;0\n", ",columns=x", format, {"line 1", R"(separator=";")"}},
      {"quoted_semicolons", "csv", "\"x\";\"label\"\n1;0\n", "", format, {"line 1, column 1", R"(separator=";")"}},
      {"quoted_commas",
       "csv",
       "\"x\",\"label\"\n1,0\n",
       ",separator=;",
       format,
       {"line 1, column 1", "leave separator= out"}},
      {"quoted_tabs", "csv", "\"x\"\t\"label\"\n1\t0\n", "", format, {"line 1, column 1", "separator=tab"}},
      {"comma_in_name", "csv", "\"area, m2\",b\n1,0\n", ",columns=area", error_code::data_missing, {"double quotes"}},
      {"many_columns_but_that", "csv", many_columns(5000), ",columns=q", error_code::data_missing, {"use one of: c0,"}},
      {"gzip", "csv", "\x1f\x8b\b", "", format, {"packed with gzip", "gunzip"}},
      {"too_many_cells", "csv", "x,label\n1,0\n1,0,3\n", "", format, {"line 3", "more than 2 cells"}},
      {"too_few_cells", "csv", "x,label\n1,0\n\n1\n", "", format, {"line 4", "has 1 cells"}},
      {"header_only", "csv", "x,label\n", "", error_code::data_empty, {"a header and no row"}},
      {"blank", "csv", "\n\r\n\n", "", error_code::data_empty, {"no row"}},
      {"empty", "csv", "", "", error_code::data_empty, {"empty", "no row", "write the rows"}},
      {"too_large", "csv", "x,label\n1e999,0\n", "", format, {"line 2, column x", "1e999"}},
      {"beyond_float32", "csv", "x,label\n1e39,0\n", "", format, {"line 2, column x"}},
      {"nan", "csv", "x,label\n1,0\nnan,0\n", "", format, {"line 3, column x", "nan"}},
      {"inf", "csv", "x,label\n-inf,0\n", "", format, {"line 2, column x"}},
      {"hexadecimal", "csv", "x,label\n0x10,0\n", "", format, {"line 2, column x", "0x10"}},
      {"two_numbers", "csv", "x,label\n1 2,0\n", "", format, {"line 2, column x"}},
      {"decimal_comma", "csv", "x,label\n\"1,5\",0\n", "", format, {"line 2, column x", "1,5"}},
      {"no_value", "csv", "x,label\n1,0\n,0\n", "", format, {"line 3, column x", "skip-empty"}},
      {"quoted_no_value", "csv", "x,label\n\"\",0\n", "", format, {"line 2, column x", "skip-empty"}},
      {"no_such_column", "csv", "x,label\n1,0\n", ",columns=y", error_code::data_missing, {"no column \"y\""}},
      {"long_separator", "csv", "x,label\n1,0\n", ",separator=ab", usage, {"separator"}},
      {"all_left_out", "csv", "x,label\n,0\n", ",skip-empty", error_code::data_empty, {"left out"}},
      {"wrong_separator", "csv", "x;label\n1;0\n", "", format, {"line 1", "one column alone", R"(separator=";")"}},
      {"tabs", "csv", "x\ty\n1\t0\n", "", format, {"line 1", "separator=tab"}},
      {"bars", "csv", "x|y\n1|0\n", ",label=y", format, {"line 1", R"(separator="|")"}},
      {"semicolons_said_to_be_text", "csv", "x;y\n1;0\n", ",separator=\",\"", format, {"line 2, column x;y"}},
      {"column_unnamed", "csv", "a,,c\n1,2,3\n", "", format, {"column 2 has no name", "columns=a+c"}},
      {"long_row", "csv", "x,label\n\"" + repeated("a\n", 9 << 20), "", format, {"line 2", "16777216 bytes"}},
      {"many_columns", "csv", repeated("a,", 70000), "", format, {"line 1", "more than 65536 cells"}},
  };
}

std::vector<bad_table> bad_jsonl() {
  return {
      {"deep", "jsonl", repeated("{\"a\":", 10000), "", format, {"line 1, column a", "nested more than 64"}},
      {"deep_array", "jsonl", "{\"x\":1}\n{\"y\":" + repeated("[", 10000), "", format, {"line 2", "nested more"}},
      {"no_object", "jsonl", "[1,2]\n", "", format, {"line 1", "no object"}},
      {"scalar", "jsonl", "3\n", "", format, {"line 1", "no object"}},
      {"half", "jsonl", "{\"x\":1}\n{\"x\":\n", "", format, {"line 2", "no JSON"}},
      {"two_objects", "jsonl", "{\"x\":1}{\"x\":1}\n", "", format, {"line 1", "no JSON"}},
      {"bad_bytes", "jsonl", "{\"x\":1,\"t\":\"\xff\"}\n", "", format, {"line 1", "no JSON"}},
      {"raw_nul", "jsonl", std::string("{\"t\":\"\0\"}\n", 10), "", format, {"line 1", "no JSON"}},
      {"escaped_nul", "jsonl", "{\"t\":\"\\u0000\"}\n", "", format, {"line 1, column t", "NUL"}},
      {"lone_surrogate", "jsonl", "{\"t\":\"\\ud800\"}\n", "", format, {"line 1"}},
      {"key_twice", "jsonl", "{\"x\":1}\n{\"x\":1,\"x\":2}\n", "", format, {"line 2, column x", "twice"}},
      {"key_twice_at_first", "jsonl", "{\"x\":1,\"x\":2}\n", "", format, {"line 1, column x", "twice"}},
      {"number_too_large", "jsonl", "{\"x\":1e999}\n", "", format, {"line 1", "too large"}},
      {"not_a_number", "jsonl", "{\"x\":NaN}\n", "", format, {"line 1", "no JSON"}},
      {"empty", "jsonl", "", "", error_code::data_empty, {"no row"}},
      {"gzip", "jsonl", "\x1f\x8b\b", "", format, {"packed with gzip"}},
      {"text", "jsonl", "{\"x\":\"red\"}\n", "", format, {"line 1, column x", "red"}},
      {"null", "jsonl", "{\"x\":1}\n{\"x\":null}\n", "", format, {"line 2, column x", "no value"}},
      {"no_key", "jsonl", "{\"x\":1}\n\n{\"y\":1}\n", "", format, {"line 3, column x", "no value"}},
      {"other_length", "jsonl", "{\"v\":[1,2]}\n{\"v\":[1]}\n", "", format, {"line 2, column v", "expected 2 numbers"}},
      {"array_in_array", "jsonl", "{\"v\":[[1,2]]}\n", "", format, {"line 1, column v"}},
      {"empty_array", "jsonl", "{\"v\":[]}\n", "", format, {"line 1, column v", "without a number"}},
      {"no_integer", "jsonl", "{\"v\":[1.5]}\n", ",inputs=v,integers=v", format, {"line 1, column v", "whole number"}},
      {"huge_integer", "jsonl", "{\"v\":9223372036854775808}\n", ",inputs=v,integers=v", format, {"column v"}},
      {"odd_name", "jsonl", "{\"a b\":1}\n", ",inputs=a b", usage, {"no name that an input"}},
      {"long_line", "jsonl", "{\"x\":1}\n{\"x\":\"" + repeated("a", 17 << 20), "", format, {"line 2", "16777216"}},
  };
}

std::vector<bad_table> bad_labels() {
  return {
      {"huge_label", "csv", "x,label\n1,99999999999999999999\n", "", label, {"line 2, column label"}},
      {"label_beyond_int32", "csv", "x,label\n1,2147483647\n", "", label, {"line 2, column label"}},
      {"negative_label", "csv", "x,label\n1,0\n1,-100\n", "", label, {"line 3, column label", "ignore=-100"}},
      {"real_label", "csv", "x,label\n1,0.5\n", "", label, {"line 2, column label", "target=NAME"}},
      {"unknown_class", "csv", "x,label\n1,cow\n", ",classes=cat+dog", label, {"line 2, column label", "cow"}},
      {"no_such_label", "csv", "x,label\n1,0\n", ",label=lable", error_code::data_missing, {"write \"label\""}},
      {"labels_alone", "csv", "label\n1\n", "", usage, {"all columns are labels"}},
      {"label_unnamed", "csv", "a,b,kind\n1,2,red\n", "", format, {"line 2, column kind", "label=kind", "columns=a+b"}},
      {"no_target", "csv", "x,m,n\n1,0,1\n2,0,\n", ",target=m+n", format, {"line 3, column n", "no value"}},
      {"text_as_target", "csv", "x,m,n\n1,0,yes\n", ",target=m+n", format, {"line 2, column n", "target=A+B"}},
      {"nan_as_target", "csv", "x,m,n\n1,nan,0\n", ",target=m+n", format, {"line 2, column m", "nan"}},
      {"no_such_target", "csv", "x,m,n\n1,0,0\n", ",target=m+nn", error_code::data_missing, {"no column \"nn\""}},
      {"target_without_name",
       "csv",
       "x,m,n,k\n1,0,0,1\n",
       ",label=k,target=m+n",
       usage,
       {"several labels", "target=x:m+n"}},
      {"target_of_odd_names",
       "csv",
       "x,\"m,1\",n,k\n1,0,0,1\n",
       ",label=k,target=\"m,1\"+n",
       usage,
       {R"(target="x:m,1"+n)"}},
      {"two_labels_of_one_name", "csv", "x,m\n1,0\n", ",label=m,target=m", usage, {"several labels"}},
      {"odd_name_of_targets", "csv", "x,m\n1,0\n", ",target=1:m", usage, {"no name that an input or a label"}},
  };
}

std::vector<bad_table> bad_arrays() {
  return {
      {"array_as_class", "csv", "x,y\n1,\"[0, 1]\"\n", ",label=y", format, {"line 2, column y", "write target=y"}},
      {"array_as_class",
       "jsonl",
       "{\"x\":1,\"labels\":[0,1]}\n",
       "",
       format,
       {"line 1, column labels", "write target=labels"}},
      {"number_behind_arrays",
       "jsonl",
       "{\"y\":[1],\"x\":0}\n{\"y\":2,\"x\":0}\n",
       ",target=y",
       format,
       {"line 2, column y", "no array"}},
      {"array_behind_numbers",
       "jsonl",
       "{\"y\":1,\"x\":0}\n{\"y\":[2],\"x\":0}\n",
       ",target=y",
       format,
       {"line 2, column y", "one number"}},
      {"ragged_target",
       "jsonl",
       "{\"y\":[1,2],\"x\":0}\n{\"y\":[1,2,3],\"x\":0}\n",
       ",target=y",
       format,
       {"line 2, column y", "an array of 3"}},
      {"text_in_target",
       "jsonl",
       "{\"y\":[1,\"a\"],\"x\":0}\n",
       ",target=y",
       format,
       {"line 1, column y", "target=A+B"}},
      {"nan_in_target", "jsonl", "{\"y\":[1,NaN],\"x\":0}\n", ",target=y", format, {"line 1", "no JSON"}},
      {"nan_text_in_target",
       "jsonl",
       "{\"y\":[1,\"NaN\"],\"x\":0}\n",
       ",target=y",
       format,
       {"line 1, column y", "NaN"}},
      {"null_in_target", "jsonl", "{\"y\":[1,null],\"x\":0}\n", ",target=y", format, {"line 1, column y", "null"}},
      {"array_in_target", "jsonl", "{\"y\":[[1],[2]],\"x\":0}\n", ",target=y", format, {"line 1, column y"}},
      {"empty_target", "jsonl", "{\"y\":[1],\"x\":0}\n{\"y\":[],\"x\":0}\n", ",target=y", format, {"line 2, column y"}},
      {"empty_first_target",
       "jsonl",
       "{\"y\":[],\"x\":0}\n",
       ",target=y",
       format,
       {"line 1, column y", "without a number"}},
      {"no_target", "jsonl", "{\"y\":[1],\"x\":0}\n{\"x\":0}\n", ",target=y", format, {"line 2, column y", "no value"}},
  };
}

TEST(bad_table, each_mistake_names_its_place) {
  std::vector<bad_table> all = bad_csv();
  for (const auto& part : {bad_jsonl(), bad_labels(), bad_arrays()}) all.insert(all.end(), part.begin(), part.end());
  for (const bad_table& each : all) {
    SCOPED_TRACE(std::string(each.kind) + " " + each.name);
    const scratch_directory dir;
    const std::string path = dir.write("t", {each.content.begin(), each.content.end()});
    const auto data = open_data(std::string(each.kind) + ":" + path + each.options);
    ASSERT_FALSE(data);
    EXPECT_EQ(data.error().code, each.code) << to_string(data.error());
    for (const std::string& word : each.words) EXPECT_THAT(to_string(data.error()), HasSubstr(word));
    EXPECT_FALSE(data.error().fix.empty());
    EXPECT_LT(to_string(data.error()).size(), 700U + path.size() * 2);
  }
}

TEST(bad_table, no_byte_can_be_changed_to_crash_the_reader) {
  const scratch_directory dir;
  const std::string csv = "a,\"b \"\"c\",label\r\n1,2.5,0\n\"3\",-4,1\n\"5\n\",6,0\n";
  const std::string jsonl =
      "{\"a\":[1,2],\"b\":{\"c\":-1e3},\"label\":\"x\\u00e4\"}\n{\"a\":[3,4],\"b\":{\"c\":0},\"label\":\"y\"}\n";
  for (const auto& [kind, text] : {std::pair("csv", csv), std::pair("jsonl", jsonl)}) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      for (const char c : {'\0', '"', ',', '\n', '\xff', '[', '}', '9'}) {
        std::string changed = text;
        changed[at] = c;
        const auto data = open_data(std::string(kind) + ":" + dir.write("t", {changed.begin(), changed.end()}));
        if (data) EXPECT_TRUE((*data)->read({0, (*data)->size()})) << changed;
      }
    }
  }
}

}  // namespace
}  // namespace troupe
