// Goal: samples with NaN or an infinity are counted, each once, in every type, place and layout. Method: one odd value
// of every bit pattern at every place of short rows, against a plain loop, and numbers that nearly are one.
#include "runtime/metric/odd_outputs.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace troupe {
namespace {

void expect_counts(const at::Tensor& outputs, std::uint64_t with_nan, std::uint64_t with_infinity) {
  const odd_samples found = count_odd_samples(std::array{&outputs});
  EXPECT_EQ(found.with_nan, with_nan) << outputs.scalar_type() << outputs.sizes();
  EXPECT_EQ(found.with_infinity, with_infinity) << outputs.scalar_type() << outputs.sizes();
}

const std::vector<at::ScalarType>& types() {
  static const std::vector<at::ScalarType> all = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16};
  return all;
}

TEST(odd_outputs, one_value_anywhere_is_found) {
  for (const at::ScalarType type : types()) {
    for (const std::int64_t width : {1, 3, 4, 7}) {
      for (std::int64_t place = 0; place < 3 * width; ++place) {
        at::Tensor outputs = at::full({3, width}, 2.5).to(type);
        outputs.view(-1)[place] = NAN;
        expect_counts(outputs, 1, 0);
        outputs.view(-1)[place] = -NAN;
        expect_counts(outputs, 1, 0);
        outputs.view(-1)[place] = INFINITY;
        expect_counts(outputs, 0, 1);
        outputs.view(-1)[place] = -INFINITY;
        expect_counts(outputs, 0, 1);
      }
    }
  }
}

TEST(odd_outputs, the_greatest_and_smallest_numbers_are_none) {
  const std::vector<double> greatest = {std::numeric_limits<float>::max(), std::numeric_limits<double>::max(), 65504,
                                        3.3895313892515355e38};
  const std::vector<double> smallest = {std::numeric_limits<float>::denorm_min(),
                                        std::numeric_limits<double>::denorm_min(), 6e-8, 1e-40};
  for (std::size_t t = 0; t < types().size(); ++t) {
    for (const double value : {greatest[t], -greatest[t], smallest[t], -smallest[t], 0.0, -0.0, 1.0}) {
      expect_counts(at::full({5, 7}, value, at::kDouble).to(types()[t]), 0, 0);
    }
  }
}

TEST(odd_outputs, a_sample_counts_once_and_may_have_both) {
  at::Tensor outputs = at::zeros({4, 2, 3});
  outputs[1].fill_(NAN);
  outputs[2][0][1] = INFINITY;
  outputs[2][1][1] = NAN;
  expect_counts(outputs, 2, 1);
  expect_counts(outputs.transpose(1, 2), 2, 1);
  expect_counts(outputs.slice(0, 2), 1, 1);
  expect_counts(outputs.select(2, 1), 2, 1);
}

TEST(odd_outputs, other_types_and_empty_rows_have_none) {
  expect_counts(at::ones({3, 4}, at::kLong), 0, 0);
  expect_counts(at::ones({3, 0}), 0, 0);
  expect_counts(at::ones({0, 3}), 0, 0);
}

}  // namespace
}  // namespace troupe
