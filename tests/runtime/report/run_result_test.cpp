// Goal: values of a result are found by the names of result.json, and an unknown name is answered with those that
// exist. Method: a result made by hand, every look-up, and the text of every exception.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/error.hpp>
#include <troupe/result.hpp>

namespace troupe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

run_result example() {
  run_result result;
  const metric_value accuracy{"accuracy",
                              {real_field("value", 0.75), count_field("correct", 3), count_field("total", 4)}};
  const std::vector<std::uint64_t> correct = {1, 2};
  const metric_value per_class{"per_class_accuracy", {real_list("value", {0.5, 1.0}), count_list("correct", correct)}};
  const metric_value loss{"nll", {real_field("mean", 0.5), real_field("sum", 2.0), count_field("count", 4)}};
  result.sinks = {{"heads", 4, {accuracy, per_class}}, {"tails", 2, {loss}}};
  result.metrics = result.sinks.front().metrics;
  return result;
}

TEST(run_result, values_counts_and_columns_by_name) {
  const run_result result = example();
  EXPECT_EQ(result["accuracy"].value(), 0.75);
  EXPECT_EQ(result["accuracy"].value("value"), 0.75);
  EXPECT_EQ(result["accuracy"].count("correct"), 3U);
  EXPECT_EQ(result["accuracy"].value("total"), 4.0) << "a count can be read as a number";
  EXPECT_THAT(result["per_class_accuracy"].column("value"), ElementsAre(0.5, 1.0));
  EXPECT_THAT(result["per_class_accuracy"].column("correct"), ElementsAre(1.0, 2.0));
  EXPECT_THAT(result["per_class_accuracy"].counts("correct"), ElementsAre(1, 2));
}

TEST(run_result, every_sink_has_its_own_metrics) {
  const run_result result = example();
  EXPECT_EQ(result.sink("heads")["accuracy"].count("total"), 4U);
  EXPECT_EQ(result.sink("tails")["nll"].value(), 0.5);
  EXPECT_EQ(result.sink("tails")["nll"].value("sum"), 2.0);
  EXPECT_EQ(result.sink("tails").samples, 2U);
}

TEST(run_result, a_share_of_nothing_is_not_a_number) {
  EXPECT_TRUE(std::isnan(share(0, 0)));
  EXPECT_EQ(share(1, 4), 0.25);
}

template <class Call>
std::string text_of(Call call) {
  try {
    static_cast<void>(call());
  } catch (const error_exception& e) {
    EXPECT_EQ(e.details().code, error_code::unknown_name);
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

TEST(run_result, unknown_names_are_answered_with_the_list_and_a_suggestion) {
  const run_result result = example();
  EXPECT_EQ(text_of([&] { return &result["acuracy"]; }),
            "error E0102: result: there is no metric \"acuracy\"; there are: accuracy, per_class_accuracy\n"
            "  fix: write \"accuracy\"");
  EXPECT_THAT(text_of([&] { return &result.sink("head"); }), HasSubstr("no sink \"head\"; there are: heads, tails"));
  EXPECT_THAT(text_of([&] { return &result.sink("tails")["accuracy"]; }), HasSubstr("sink tails: there is no metric"));
  EXPECT_THAT(text_of([&] { return result["accuracy"].value("corect"); }),
              HasSubstr("metric accuracy: there is no field \"corect\"; there are: value, correct, total"));
  EXPECT_THAT(text_of([] { return &run_result()["nll"]; }), HasSubstr("there are: none"));
}

TEST(run_result, a_field_of_another_form_is_answered_with_its_reader) {
  const run_result result = example();
  EXPECT_THAT(text_of([&] { return result["per_class_accuracy"].value(); }),
              HasSubstr("read it with column(\"value\")"));
  EXPECT_THAT(text_of([&] { return result["per_class_accuracy"].count("correct"); }),
              HasSubstr("read it with counts(\"correct\")"));
  EXPECT_THAT(text_of([&] { return result["accuracy"].count("value"); }), HasSubstr("read it with value(\"value\")"));
  EXPECT_THAT(text_of([&] { return result["accuracy"].column("correct"); }),
              HasSubstr("read it with count(\"correct\")"));
  EXPECT_THAT(text_of([&] { return result["per_class_accuracy"].counts("value"); }),
              HasSubstr("read it with column(\"value\")"));
}

}  // namespace
}  // namespace troupe
