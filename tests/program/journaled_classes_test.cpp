// Goal: a journal keeps the states of metrics of thousands of classes, and which outputs were odd, once each; states
// that fit no record are refused before the start. Method: 21,841 classes, as ImageNet-21k has; half of a journal is
// cut off.
#include <filesystem>
#include <vector>

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/processes/many_classes.hpp"
#include "tests/support/paths.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/topology.hpp>

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

class journal_of_classes : public ::testing::Test {
 protected:
  journal_of_classes() {
    std::string name = (std::filesystem::temp_directory_path() / "test-classes-XXXXXX").string();
    directory_ = ::mkdtemp(name.data());
    options_ = {.micro_batch = 16, .threads = 1, .limit = 640, .journal = {.file = (directory_ / "journal").string()}};
  }
  ~journal_of_classes() override { std::filesystem::remove_all(directory_); }

  /// Any file stands for the samples.
  const std::string file_ = (data_dir() / "mnist/lenet.pt").string();
  std::filesystem::path directory_;
  run_options options_;
};

TEST_F(journal_of_classes, is_resumed_and_counts_odd_outputs_once) {
  const run_result whole = get(run(thousands_of_classes({}, file_), options_));
  std::filesystem::resize_file(directory_ / "journal", std::filesystem::file_size(directory_ / "journal") / 2);
  options_.journal.resume = true;
  std::vector<log_record> log;
  const run_result resumed = get(run(thousands_of_classes({}, file_), options_,
                                     {.on_log = [&](const log_record& record) { log.push_back(record); }}));
  EXPECT_EQ(resumed.delivery.resumed, 19);
  EXPECT_EQ(first_difference(resumed, whole), std::nullopt);
  for (const run_result* each : {&whole, &resumed}) {
    EXPECT_EQ(each->samples_with_nan, samples_with_nan(640));
    EXPECT_EQ(each->samples_with_infinity, samples_with_infinity(640));
    EXPECT_EQ((*each)["f1"].counts("total").size(), 21'841);
    EXPECT_EQ((*each)["per_class_accuracy"].counts("total"), (*each)["f1"].counts("total"));
    EXPECT_EQ((*each)["accuracy"].count("total"), 640);
    ASSERT_EQ(each->warnings.size(), 1);
    EXPECT_THAT(each->warnings[0], HasSubstr(std::to_string(samples_with_nan(640)) + " of 640 samples have NaN"));
  }
  ASSERT_EQ(log.size(), 1);
  EXPECT_EQ(log[0].level, log_level::warning);
  EXPECT_EQ(log[0].text, resumed.warnings[0]);
}

TEST_F(journal_of_classes, is_refused_where_the_states_fit_no_record_together) {
  options_.limit = 8;
  const topology both = many_classes(1023, {}, {"confusion_matrix", "f1"}, file_);
  const auto refused = run(both, options_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::value_out_of_range);
  EXPECT_THAT(refused.error().cause, HasSubstr("together they have a state of 1051"));
  options_.journal = {};
  const auto alone = run(both, options_);
  EXPECT_TRUE(alone) << to_string(alone.error());
}

}  // namespace
}  // namespace troupe::testing
