// Goal: two results differ where a bit of a metric does, and nowhere for their times. Method: one value of a known
// result is changed at a time.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <troupe/result.hpp>

namespace troupe {
namespace {

run_result known_result() {
  run_result made;
  made.samples = 10;
  made.micro_batches = 3;
  made.metrics = {{"nll", {{"mean", false, false, {0.0}, {}}, {"count", false, true, {}, {10}}}},
                  {"accuracy", {{"correct", true, true, {}, {5, 4}}}}};
  return made;
}

TEST(first_difference, is_nothing_for_the_same_metrics_at_other_times) {
  run_result other = known_result();
  other.wall_time = std::chrono::seconds(9);
  other.delivery.replayed = 4;
  EXPECT_EQ(first_difference(known_result(), other), std::nullopt);
}

TEST(first_difference, names_the_first_value_that_differs) {
  run_result other = known_result();
  other.metrics[1].fields[0].counts[1] = 3;
  EXPECT_EQ(first_difference(known_result(), other), "metrics.accuracy.correct[1]: 4 and 3");
  other = known_result();
  other.metrics[0].fields[0].reals[0] = std::nextafter(0.0, 1.0);
  EXPECT_EQ(first_difference(known_result(), other), "metrics.nll.mean: 0.0 and 5e-324");
}

TEST(first_difference, sees_the_sign_of_zero_and_what_is_no_number) {
  run_result other = known_result();
  other.metrics[0].fields[0].reals[0] = -0.0;
  EXPECT_EQ(first_difference(known_result(), other), "metrics.nll.mean: 0.0 and -0.0");
  other.metrics[0].fields[0].reals[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(first_difference(other, other), std::nullopt);
}

TEST(first_difference, sees_that_one_is_partial_or_lacks_a_metric) {
  run_result other = known_result();
  other.partial = true;
  EXPECT_EQ(first_difference(known_result(), other), "partial: null and true");
  other = known_result();
  other.samples_with_nan = 1;
  EXPECT_EQ(first_difference(known_result(), other), "samples_with_nan: 0 and 1");
  other = known_result();
  other.metrics.pop_back();
  EXPECT_NE(first_difference(known_result(), other), std::nullopt);
}

}  // namespace
}  // namespace troupe
