// Goal: files in the form of SQuAD are read as they are, and no file from outside crashes the reader or is read as
// something that it is not: each is an error that names place and cause. Method: files written by hand, each with one
// thing wrong, and what the error must say.
#include "runtime/question_answering/squad_file.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class squad_files : public ::testing::Test {
 protected:
  squad_files() : path_(std::filesystem::temp_directory_path() / ("squad_" + std::to_string(::getpid()) + ".json")) {}
  ~squad_files() override { std::filesystem::remove(path_); }

  expected<squad_file> read(const std::string& content) const {
    std::ofstream(path_, std::ios::binary) << content;
    return read_squad_file(path_.string());
  }
  void expect_refused(const std::string& content, error_code code, const std::string& cause) const {
    const auto found = read(content);
    ASSERT_FALSE(found.has_value()) << content.substr(0, 200);
    EXPECT_EQ(found.error().code, code) << to_string(found.error());
    EXPECT_THAT(found.error().cause, HasSubstr(cause));
    EXPECT_THAT(found.error().where, HasSubstr(path_.string()));
    EXPECT_FALSE(found.error().fix.empty());
    EXPECT_LT(to_string(found.error()).size(), 1000u);
  }

  std::filesystem::path path_;
};

std::string with_questions(const std::string& questions, const std::string& context = "Zoë likes tea 🙂 and rain.",
                           const std::string& version = "1.1") {
  return R"({"version": ")" + version + R"(", "data": [{"title": "T", "paragraphs": [{"qas": [)" + questions +
         R"(], "context": ")" + context + R"("}]}]})";
}
std::string question(const std::string& id, const std::string& answer, const std::string& start) {
  return R"({"question": "What?", "id": ")" + id + R"(", "answers": [{"text": ")" + answer + R"(", "answer_start": )" +
         start + "}]}";
}

TEST_F(squad_files, are_read_with_questions_before_their_context) {
  const squad_file found =
      get(read(with_questions(question("a", "tea", "10") + "," + question("b", "and rain", "16"))));
  EXPECT_EQ(found.version, squad_version::v1);
  EXPECT_THAT(found.contexts, ElementsAre("Zoë likes tea 🙂 and rain."));
  ASSERT_EQ(found.questions.size(), 2u);
  EXPECT_EQ(found.questions[1].id, "b");
  EXPECT_EQ(found.questions[1].text, "What?");
  EXPECT_THAT(found.questions[1].answers, ElementsAre("and rain"));
}

TEST_F(squad_files, belong_to_their_context_wherever_it_stands) {
  const std::string behind = R"({"qas": [)" + question("a", "x", "0") + R"(], "context": "x"})";
  const std::string before = R"({"context": "y", "qas": [)" + question("b", "y", "0") + R"(]})";
  const squad_file found =
      get(read(R"({"data": [{"paragraphs": [)" + before + "," + behind + R"(]}, {"paragraphs": [)" +
               R"({"context": "z", "qas": [)" + question("c", "z", "0") + "]}]}]}"));
  EXPECT_THAT(found.contexts, ElementsAre("y", "x", "z"));
  ASSERT_EQ(found.questions.size(), 3u);
  EXPECT_EQ(found.questions[0].context, 0u);
  EXPECT_EQ(found.questions[1].context, 1u);
  EXPECT_EQ(found.questions[2].context, 2u);
}

TEST_F(squad_files, of_version_2_may_have_no_answer) {
  const std::string none = R"({"question": "", "id": "n", "answers": [], "is_impossible": true,
      "plausible_answers": [{"text": 3, "answer_start": "x"}], "other": {"id": [1, {"data": 2}]}})";
  EXPECT_EQ(get(read(with_questions(none))).version, squad_version::v2);
  const std::string silent = R"({"question": "", "id": "n", "answers": []})";
  EXPECT_EQ(get(read(with_questions(silent, "x", "v2.0"))).version, squad_version::v2);
  expect_refused(with_questions(silent), error_code::data_bad_format, "question \"n\" has no answer");
}

TEST_F(squad_files, that_are_no_such_file_or_no_json_are_refused) {
  EXPECT_EQ(read_squad_file("/nowhere/x.json").error().code, error_code::data_missing);
  EXPECT_EQ(read_squad_file("/tmp").error().code, error_code::data_unreadable);
  expect_refused("", error_code::data_unreadable, "is empty");
  expect_refused("<html>not found</html>", error_code::data_bad_format, "no JSON text at byte 1");
  expect_refused(R"({"data": [)", error_code::data_bad_format, "no JSON text");
  expect_refused(with_questions(question("a", "tea", "10")) + "}", error_code::data_bad_format, "no JSON text");
  expect_refused(std::string("\0\0\0\0", 4), error_code::data_bad_format, "no JSON text");
  expect_refused(with_questions(question("a",
                                         "t\xff\xfe"
                                         "a",
                                         "10")),
                 error_code::data_bad_format, "no UTF-8");
  expect_refused(with_questions(question("a", "\\ud800", "10")), error_code::data_bad_format, "no JSON text");
}

TEST_F(squad_files, nested_deep_are_refused) {
  const std::string deep(10'000, '[');
  expect_refused(deep, error_code::data_bad_format, "no object");
  expect_refused(R"({"other": )" + deep, error_code::data_bad_format, "nested more than 200 deep");
  std::string objects = R"({"other": )";
  for (int i = 0; i < 10'000; ++i) objects += R"({"a": )";
  expect_refused(objects, error_code::data_bad_format, "nested more than 200 deep");
}

TEST_F(squad_files, that_lack_a_member_are_refused) {
  expect_refused("{}", error_code::data_bad_format, "has no member data");
  expect_refused(R"({"data": []})", error_code::data_empty, "no question");
  expect_refused(R"({"data": [{}]})", error_code::data_bad_format, "data[0] has no member paragraphs");
  expect_refused(R"({"data": [{"paragraphs": [{"context": "x"}]}]})", error_code::data_bad_format,
                 "data[0].paragraphs[0] has no member qas");
  expect_refused(R"({"data": [{"paragraphs": [{"qas": []}]}]})", error_code::data_bad_format, "no member context");
  expect_refused(with_questions(R"({"id": "a", "answers": []})"), error_code::data_bad_format, "no member question");
  expect_refused(with_questions(R"({"question": "q", "answers": []})"), error_code::data_bad_format, "no member id");
  expect_refused(with_questions(R"({"question": "q", "id": "a"})"), error_code::data_bad_format, "no member answers");
  expect_refused(with_questions(R"({"question": "q", "id": "a", "answers": [{"answer_start": 1}]})"),
                 error_code::data_bad_format, "answers[0] has no member text");
}

TEST_F(squad_files, with_members_of_another_type_are_refused) {
  expect_refused("[]", error_code::data_bad_format, "no object");
  expect_refused("3", error_code::data_bad_format, "no object");
  expect_refused(R"({"data": {}})", error_code::data_bad_format, "data is no array");
  expect_refused(R"({"data": "x"})", error_code::data_bad_format, "data is a text, expected an array");
  expect_refused(R"({"data": [[]]})", error_code::data_bad_format, "data[0] is no object");
  expect_refused(R"({"data": [null]})", error_code::data_bad_format, "data[0] is null, expected an object");
  expect_refused(R"({"data": [{"paragraphs": []}, null]})", error_code::data_bad_format, "data[1] is null");
  expect_refused(R"({"data": [{"paragraphs": [{"context": 3}]}]})", error_code::data_bad_format, "expected a text");
  expect_refused(with_questions(question("a", "tea", "\"10\"")), error_code::data_bad_format, "a whole number");
  expect_refused(with_questions(question("a", "tea", "10.5")), error_code::data_bad_format, "a whole number");
  expect_refused(with_questions(question("a", "tea", "null")), error_code::data_bad_format, "a whole number");
  expect_refused(with_questions(R"({"id": {}, "question": "q", "answers": []})"), error_code::data_bad_format,
                 "qas[0].id is an object, expected a text");
  expect_refused(with_questions(R"({"id": "x", "question": "q", "answers": [], "is_impossible": 1})"),
                 error_code::data_bad_format, "expected true or false");
}

TEST_F(squad_files, with_places_that_lie_are_refused) {
  for (const char* start :
       {"0", "9", "11", "-1", "1000000", "9223372036854775807", "18446744073709551615", "-9223372036854775808"}) {
    expect_refused(with_questions(question("a", "tea", start)), error_code::data_label_out_of_range,
                   "question \"a\": the answer \"tea\" does not stand at answer_start");
  }
  EXPECT_TRUE(read(with_questions(question("a", "🙂", "14"))).has_value());
}

TEST_F(squad_files, with_an_id_or_a_member_twice_are_refused) {
  const std::string one = question("a", "tea", "10");
  expect_refused(with_questions(one + "," + one), error_code::data_bad_format, "two questions have the id \"a\"");
  expect_refused(R"({"data": [], "data": []})", error_code::data_bad_format, "data is there twice");
  expect_refused(with_questions(R"({"id": "a", "id": "b", "question": "q", "answers": []})"),
                 error_code::data_bad_format, "id is there twice");
}

TEST_F(squad_files, with_a_thousand_answers_to_a_question_are_read_and_with_more_refused) {
  const auto with_answers = [](int count) {
    std::string answers = R"({"text": "x"})";
    for (int i = 1; i < count; ++i) answers += R"(, {"text": ""})";
    return with_questions(R"({"id": "a", "question": "q", "answers": [)" + answers + "]}");
  };
  EXPECT_TRUE(read(with_answers(1000)).has_value());
  expect_refused(with_answers(1001), error_code::data_bad_format, "more than 1000 answers");
}

TEST_F(squad_files, with_an_empty_context_are_refused) {
  expect_refused(with_questions(question("a", "", "0"), ""), error_code::data_bad_format, "context is empty");
}

TEST_F(squad_files, show_texts_of_errors_short_and_without_control_characters) {
  const std::string id = "\\u001b[31m" + std::string(1 << 20, 'x');
  expect_refused(with_questions(question(id, "no", "3")), error_code::data_label_out_of_range, "question \"\\x1b[31m");
  EXPECT_TRUE(read(with_questions(question(std::string(1 << 20, 'q'), "tea", "10"))).has_value());
}

}  // namespace
}  // namespace troupe
