// Goal: the table for people says what it should and never overflows its width. Method: a result with known values;
// lines are looked for and measured.
#include <cmath>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/report/text_table.hpp"
#include <troupe/result.hpp>

namespace troupe {
namespace {

using namespace std::chrono_literals;

using ::testing::HasSubstr;
using ::testing::Not;

run_result result_of_two_stages() {
  run_result result;
  result.model = "lenet.pt";
  result.data = "mnist:data";
  result.samples = 10000;
  result.micro_batches = 157;
  result.metrics = {{"accuracy",
                     {{"value", false, false, {0.9904}, {}},
                      {"correct", false, true, {}, {9904}},
                      {"total", false, true, {}, {10000}}},
                     metric_form::share},
                    {"nll",
                     {{"mean", false, false, {0.0303734}, {}},
                      {"sum", false, false, {303.7}, {}},
                      {"count", false, true, {}, {10000}}},
                     metric_form::mean},
                    {"per_class_accuracy",
                     {{"value", true, false, {0.5, 0.25}, {}},
                      {"correct", true, true, {}, {2, 1}},
                      {"total", true, true, {}, {4, 4}}},
                     metric_form::per_class}};
  result.delivery = {157, 157, 0, 0, 0};
  result.stages = {{"stage 0", 1, {"0 Conv2d", "1 ReLU"}, 250ms, 0.934, 157}};
  result.samples_per_second = 3121.23;
  return result;
}

TEST(result_table, has_metrics_classes_rate_and_stages) {
  const std::string table = result_table(result_of_two_stages(), 100);
  EXPECT_THAT(table, HasSubstr("accuracy  0.9904  (9904 of 10000)\n"));
  EXPECT_THAT(table, HasSubstr("nll       0.030373  (mean over 10000)\n"));
  EXPECT_THAT(table, HasSubstr("3121.2 samples/s"));
  EXPECT_THAT(table, HasSubstr("per_class_accuracy\nclass  value  correct  total\n    0    0.5        2      4\n"));
  EXPECT_THAT(table, HasSubstr("stage    replica    busy  forward  micro-batches  layers\n"));
  EXPECT_THAT(table, HasSubstr("stage 0        1  93.4 %  0.250 s            157  0 Conv2d, 1 ReLU\n"));
  EXPECT_THAT(table, Not(HasSubstr("PARTIAL")));
}

TEST(result_table, says_how_many_samples_were_left_out) {
  run_result result = result_of_two_stages();
  EXPECT_THAT(result_table(result, 100), HasSubstr("samples   10000 in 157 micro-batches\n"));
  result.left_out = 12;
  EXPECT_THAT(result_table(result, 100), HasSubstr("samples   10000 in 157 micro-batches, 12 left out\n"));
}

TEST(result_table, shows_a_warning_as_a_whole) {
  run_result result = result_of_two_stages();
  result.warnings = {"layer 3 (3 Dropout) draws random numbers: aten::dropout with training on, " +
                     std::string(100, 'x')};
  std::string shown;
  for (const char each : result_table(result, 60)) {
    if (each != ' ' && each != '\n') shown += each;
  }
  EXPECT_THAT(shown, HasSubstr("WARNINGlayer3(3Dropout)drawsrandomnumbers:aten::dropoutwithtrainingon," +
                               std::string(100, 'x')));
}

TEST(result_table, shows_the_numbers_of_a_metric_with_several) {
  run_result result = result_of_two_stages();
  const metric_value f1{"f1",
                        {real_field("macro", 0.5), real_field("micro", 0.75), real_list("per_class", {0.5})},
                        metric_form::per_class};
  result.metrics = {f1, {"alone", {real_field("value", 2)}}};
  EXPECT_THAT(result_table(result, 100), HasSubstr("f1        0.5  (macro, micro 0.75)\n"));
  EXPECT_THAT(result_table(result, 100), HasSubstr("f1\nclass  per_class\n    0        0.5\n"));
  EXPECT_THAT(result_table(result, 100), HasSubstr("alone     2\n"));
  result.samples = 0;
  EXPECT_THAT(result_table(result, 100), HasSubstr("f1        -\n"));
}

metric_value matrix_of(std::size_t classes, std::uint64_t count) {
  metric_value matrix{"confusion_matrix", {}, metric_form::matrix};
  for (std::size_t label = 0; label < classes; ++label) {
    std::vector<std::uint64_t> row(classes, 0);
    row[label] = count;
    if (label == 0) row[1] = 3;
    matrix.fields.push_back(count_list("label_" + std::to_string(label), row));
  }
  std::vector<std::uint64_t> other(classes, 0);
  other[2] = 7;
  matrix.fields.push_back(count_list("other", other));
  return matrix;
}

TEST(result_table, of_a_confusion_matrix_has_a_row_per_true_class) {
  run_result result = result_of_two_stages();
  result.metrics = {matrix_of(3, 40)};
  EXPECT_THAT(result_table(result, 80), HasSubstr("confusion_matrix: rows are true classes, columns predicted ones\n"
                                                  "true   0   1   2  other\n"
                                                  "   0  40   3   0      0\n"
                                                  "   1   0  40   0      0\n"
                                                  "   2   0   0  40      7\n"));
}

TEST(result_table, of_a_confusion_matrix_never_cuts_off_other) {
  run_result result = result_of_two_stages();
  result.metrics = {matrix_of(10, 12345)};
  const std::string whole = result_table(result, 82);
  EXPECT_THAT(whole, HasSubstr("true      0      1      2      3      4      5      6      7      8      9  other\n"));
  EXPECT_THAT(whole, Not(HasSubstr("--json")));
  const std::string cut = result_table(result, 80);
  EXPECT_THAT(cut, HasSubstr("true      0      1      2      3      4      5      6      7      8  …  other\n"));
  EXPECT_THAT(cut, HasSubstr("   2      0      0  12345      0      0      0      0      0      0  …      7\n"));
  EXPECT_THAT(cut, HasSubstr("--json shows all 10 classes\n"));
  for (const std::size_t classes : {40U, 1023U}) {
    result.metrics = {matrix_of(classes, 5)};
    for (const std::size_t width : {40U, 80U, 200U}) {
      std::istringstream lines(result_table(result, width));
      bool has_other = false;
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(text_columns(line), width) << line;
        has_other = has_other || line.ends_with("  other");
      }
      EXPECT_TRUE(has_other) << classes << ", " << width;
    }
  }
}

TEST(result_table, calls_a_mean_what_is_one) {
  run_result result = result_of_two_stages();
  result.metrics = {{"calibration_error", {real_field("mean", 0.25), count_field("count", 2000)}},
                    {"mean_sureness", {real_field("mean", 0.5), count_field("count", 2000)}, metric_form::mean},
                    {"hit_rate", {real_field("rate", 0.5), count_field("correct", 4), count_field("total", 8)}}};
  const std::string table = result_table(result, 100);
  EXPECT_THAT(table, HasSubstr("calibration_error  0.25  (mean, count 2000)\n"));
  EXPECT_THAT(table, HasSubstr("mean_sureness      0.5  (mean over 2000)\n"));
  EXPECT_THAT(table, HasSubstr("hit_rate           0.5  (rate, correct 4, total 8)\n"));
}

TEST(result_table, tells_of_samples_with_odd_outputs_where_there_are_some) {
  run_result result = result_of_two_stages();
  EXPECT_THAT(result_table(result, 100), Not(HasSubstr("outputs")));
  result.samples_with_nan = 12;
  EXPECT_THAT(result_table(result, 100), HasSubstr("outputs   samples with NaN: 12\n"));
  result.samples_with_infinity = 3;
  EXPECT_THAT(result_table(result, 100), HasSubstr("outputs   samples with NaN: 12, with an infinity: 3\n"));
  result.sinks = {{"early", 10, {}, 0, 3}, {"late", 10, {}, 2, 0}};
  EXPECT_THAT(result_table(result, 100), HasSubstr("late       10 samples\n  outputs  samples with NaN: 2\n"));
}

TEST(result_table, of_no_samples_has_no_number_that_is_none) {
  run_result result = result_of_two_stages();
  result.samples = 0;
  const double nothing = std::nan("");
  result.metrics[0].fields = {
      {"value", false, false, {-nothing}, {}}, {"correct", false, true, {}, {0}}, {"total", false, true, {}, {0}}};
  result.metrics[1].fields = {{"mean", false, false, {nothing}, {}}, {"count", false, true, {}, {0}}};
  result.metrics[2].fields = {{"value", true, false, {nothing, -nothing}, {}}};
  result.sinks = {{"early", 0, result.metrics}, {"late", 0, result.metrics}};
  for (const std::size_t sinks : {2, 1}) {
    result.sinks.resize(sinks);
    const std::string table = result_table(result, 100);
    EXPECT_THAT(table, Not(HasSubstr("nan")));
    EXPECT_THAT(table, ::testing::ContainsRegex("accuracy  +-  \\(0 of 0\\)"));
  }
}

TEST(result_table, of_some_samples_tells_that_a_metric_is_not_a_number) {
  run_result result = result_of_two_stages();
  result.metrics[1].fields[0].reals = {std::nan("")};
  EXPECT_THAT(result_table(result, 100), HasSubstr("nll       nan  (mean over 10000)"));
}

TEST(result_table, labels_what_is_partial) {
  run_result result = result_of_two_stages();
  result.partial = true;
  EXPECT_THAT(result_table(result, 100), HasSubstr("PARTIAL"));
}

TEST(result_table, has_a_row_for_each_fault) {
  run_result result;
  result.faults = {{.fault = "kill:loader,at=mb3", .times = 1, .after = 500ms, .recovery_time = 250ms, .replayed = 7},
                   {.fault = "kill:driver,at=1s"}};
  const std::string table = result_table(result, 100);
  EXPECT_THAT(table, HasSubstr("kill:loader,at=mb3      1  0.500 s       0.250 s         7\n"));
  EXPECT_THAT(table, HasSubstr("kill:driver,at=1s       0        -             -         0\n"));
}

TEST(result_table, says_why_a_fault_was_not_injected) {
  run_result result;
  result.faults = {{.fault = "kill:driver,at=1s", .note = "not injected: its moment did not come"},
                   {.fault = "kill:loader,at=mb3", .times = 1, .after = 500ms, .recovery_time = 250ms}};
  EXPECT_THAT(result_table(result, 100),
              HasSubstr("kill:driver,at=1s                            0        -             -         0\n"
                        "└ not injected: its moment did not come\n"
                        "kill:loader,at=mb3                           1  0.500 s       0.250 s         0\n"));
}

TEST(result_table, cuts_lines_at_the_width) {
  run_result result = result_of_two_stages();
  result.stages.front().layers = {std::string(300, 'x')};
  for (const std::size_t width : {40U, 80U, 200U}) {
    std::istringstream lines(result_table(result, width));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(text_columns(line), width) << line;
  }
  EXPECT_THAT(result_table(result, 80), HasSubstr("…\n"));
}

TEST(listed, names_first_and_last_of_many) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed({"0 A", "1 B", "2 C"}), "0 A, 1 B, 2 C");
  EXPECT_EQ(listed({"0 A", "1 B", "2 C", "3 D"}), "0 A … 3 D");
}

TEST(shortened, keeps_code_points_whole) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcd", 3), "ab…");
  EXPECT_EQ(shortened("äöüß", 3), "äö…");
  EXPECT_EQ(shortened("abc", 0), "");
}

}  // namespace
}  // namespace troupe
