// Goal: files of predictions are read whole, or refused with a reason. Method: files by hand.
#include "runtime/question_answering/answer_file.hpp"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/question_answering/score_answers.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;

class answer_files : public ::testing::Test {
 protected:
  answer_files()
      : path_(std::filesystem::temp_directory_path() / ("answers_" + std::to_string(::getpid()) + ".json")) {}
  ~answer_files() override { std::filesystem::remove(path_); }
  std::string write(const std::string& content) const {
    std::ofstream(path_, std::ios::binary) << content;
    return path_.string();
  }
  void expect_refused(const std::string& content, const std::string& cause) const {
    const auto found = read_answer_file(write(content));
    ASSERT_FALSE(found.has_value()) << content.substr(0, 100);
    EXPECT_THAT(to_string(found.error()), HasSubstr(cause));
  }
  std::filesystem::path path_;
};

TEST_F(answer_files, are_read) {
  const auto answers = get(read_answer_file(write(R"({"a": "x", "b": ""})")));
  EXPECT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers.at("a"), "x");
  const auto numbers = get(read_number_file(write(R"({"a": 0.25, "b": -3, "c": 4})")));
  EXPECT_EQ(numbers.at("a"), 0.25);
  EXPECT_EQ(numbers.at("b"), -3);
  EXPECT_FALSE(read_number_file(write(R"({"a": "x"})")).has_value());
}

TEST_F(answer_files, of_another_form_are_refused) {
  expect_refused("", "empty");
  expect_refused("[]", "no object");
  expect_refused("\"x\"", "no object");
  expect_refused(R"({"a": 3})", "value of \"a\" is no text");
  expect_refused(R"({"a": {"b": "c"}})", "value of \"a\" is no text");
  expect_refused(R"({"a": ["b"]})", "value of \"a\" is no text");
  expect_refused(R"({"a": null})", "value of \"a\" is no text");
  expect_refused(R"({"a": "x", "a": "y"})", "\"a\" is there twice");
  expect_refused("{\"a\": \"\xff\"}", "UTF-8");
  expect_refused(R"({"a": "x")", "no JSON text");
  expect_refused("{\"a\": " + std::string(10'000, '['), "no text");
  std::string many = "{\"0\": \"\"";
  for (int i = 1; i <= 500'000; ++i) many += ",\"" + std::to_string(i) + "\": \"\"";
  expect_refused(many + "}", "more than 500000 members");
}

TEST(score, a_question_without_a_prediction_is_wrong) {
  const squad_file data{squad_version::v1, {"c"}, {{"a", "", 0, {"x"}}, {"b", "", 0, {"y"}}}};
  const scored_answers found = score_answers(data, {{"a", "x"}, {"unknown", "y"}}, {}, 1);
  EXPECT_EQ(found.missing, 1u);
  EXPECT_EQ(found.totals.all.total, 2u);
  EXPECT_EQ(found.totals.all.exact_match, 50);
}

}  // namespace
}  // namespace troupe
