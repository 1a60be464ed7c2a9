// Goal: mae and mse are the means over all elements, in double, whatever the types, shapes and strides. Method: plain
// loops over random numbers, LibTorch's losses, and a case worked out by hand.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/metric/one_part.hpp"
#include <troupe/metric.hpp>

namespace troupe {
namespace {

using ::testing::HasSubstr;

metric_value value_of(const std::string& name, const at::Tensor& outputs, const at::Tensor& labels) {
  const metric_ptr one = get(make_metric(name, 0));
  std::vector<std::uint64_t> state(one->words(), 0);
  get(update_words(*one, outputs, labels, state));
  return value_of(*one, state);
}

TEST(regression, by_hand) {
  // The example of scikit-learn's pages: y_true = [3, -0.5, 2, 7], y_pred = [2.5, 0, 2, 8]: MAE 0.5, MSE 0.375.
  const at::Tensor outputs = at::tensor({2.5F, 0.0F, 2.0F, 8.0F});
  const at::Tensor labels = at::tensor({3.0F, -0.5F, 2.0F, 7.0F});
  EXPECT_EQ(value_of("mae", outputs, labels).value(), 0.5);
  EXPECT_EQ(value_of("mse", outputs, labels).value(), 0.375);
  EXPECT_EQ(value_of("mse", outputs, labels).value("sum"), 1.5);
  EXPECT_EQ(value_of("mse", outputs, labels).count("count"), 4U);
  EXPECT_EQ(value_of("mae", outputs.view({4, 1}), labels).value(), 0.5) << "a model of one output per sample";
  EXPECT_EQ(value_of("mae", outputs, labels.view({4, 1})).value(), 0.5);
  EXPECT_EQ(value_of("mae", outputs, at::tensor({2, 0, 2, 10}).to(at::kLong)).value(), 0.625) << "whole numbers";
}

TEST(regression, equals_plain_loops_for_every_type) {
  at::manual_seed(21);
  const at::Tensor base = at::randn({40, 3, 5}) * 100;
  const at::Tensor other = at::randn({40, 3, 5}) * 100;
  for (const at::ScalarType a : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    for (const at::ScalarType b : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong}) {
      const at::Tensor outputs = base.to(a);
      const at::Tensor labels = other.to(b);
      const at::Tensor found = outputs.to(at::kDouble).flatten();
      const at::Tensor wanted = labels.to(at::kDouble).flatten();
      double absolute = 0;
      double squared = 0;
      for (std::int64_t sample = 0; sample < 40; ++sample) {  // each sample is a sum of its own
        double own_absolute = 0;
        double own_squared = 0;
        for (std::int64_t i = sample * 15; i < (sample + 1) * 15; ++i) {
          const double difference = found.const_data_ptr<double>()[i] - wanted.const_data_ptr<double>()[i];
          own_absolute += std::abs(difference);
          own_squared += difference * difference;
        }
        absolute += own_absolute;
        squared += own_squared;
      }
      EXPECT_EQ(value_of("mae", outputs, labels).value("sum"), absolute) << a << ' ' << b;
      EXPECT_EQ(value_of("mse", outputs, labels).value("sum"), squared) << a << ' ' << b;
      EXPECT_EQ(value_of("mse", outputs, labels).count("count"), 600U);
    }
  }
}

TEST(regression, equals_torch_and_strides_do_not_matter) {
  at::manual_seed(22);
  const at::Tensor outputs = at::randn({6, 40}).t();
  const at::Tensor labels = at::randn({40, 12}).narrow(1, 3, 6);
  const at::Tensor found = outputs.to(at::kDouble);
  EXPECT_NEAR(value_of("mae", outputs, labels).value(), at::l1_loss(found, labels.to(at::kDouble)).item<double>(),
              1e-13);
  EXPECT_NEAR(value_of("mse", outputs, labels).value(), at::mse_loss(found, labels.to(at::kDouble)).item<double>(),
              1e-13);
  EXPECT_EQ(value_of("mse", outputs, labels).value(),
            value_of("mse", outputs.contiguous(), labels.contiguous()).value());
}

TEST(regression, nan_is_never_hidden) {
  EXPECT_TRUE(std::isnan(value_of("mae", at::full({2}, NAN), at::zeros({2})).value()));
  EXPECT_TRUE(std::isinf(value_of("mse", at::full({2}, INFINITY), at::zeros({2})).value()));
}

void expect_refused(const at::Tensor& outputs, const at::Tensor& labels, const std::string& cause,
                    const std::string& fix) {
  for (const std::string name : {"mae", "mse"}) {
    const metric_ptr one = get(make_metric(name, 0));
    std::vector<std::uint64_t> state(one->words(), 0);
    const auto done = update_words(*one, outputs, labels, state);
    ASSERT_FALSE(done.has_value()) << cause;
    EXPECT_EQ(done.error().code, error_code::metric_failed);
    EXPECT_THAT(done.error().cause, HasSubstr(cause));
    EXPECT_THAT(done.error().fix, HasSubstr(fix));
    EXPECT_EQ(state, std::vector<std::uint64_t>(2, 0));
  }
}

TEST(regression, other_shapes_and_types_are_refused_and_never_broadcast) {
  const std::string fix = "labels of the shape of the outputs";
  expect_refused(at::zeros({4, 3}), at::zeros({4}), "outputs Float [4, 3] and labels Float [4]", fix);
  expect_refused(at::zeros({4}), at::zeros({3}), "labels Float [3]", fix);
  expect_refused(at::zeros({4, 10}), at::zeros({4}, at::kLong), "labels Long [4]", "use one of: accuracy, topK");
  expect_refused(at::zeros({4}, at::kLong), at::zeros({4}), "outputs Long [4]", fix);
  expect_refused({}, at::zeros({4}), "outputs nothing", fix);
  expect_refused(at::zeros({4}), {}, "labels nothing", fix);
  expect_refused(at::zeros({}), at::zeros({}), "Float []", fix);
  expect_refused(at::zeros({4}).to_sparse(), at::zeros({4}), "outputs Float", fix);
}

}  // namespace
}  // namespace troupe
