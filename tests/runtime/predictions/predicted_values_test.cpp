// Goal: predictions are the classes, and probabilities the softmax, that PyTorch gives, for every shape of outputs and
// labels that docs/predictions.md lists. Method: random outputs of each shape and type against torch's argmax and
// softmax.
#include "runtime/predictions/predicted_values.hpp"

#include <ATen/Functions.h>
#include <gmock/gmock.h>

namespace troupe {
namespace {

struct layout {
  std::vector<std::int64_t> output;
  std::vector<std::int64_t> label;
  std::int64_t dimension;
};
const std::vector<layout> with_classes = {{{7, 5}, {7}, 1},
                                          {{7, 5}, {7, 1}, 1},
                                          {{4, 6, 5}, {4, 6}, 2},
                                          {{4, 5, 3, 2}, {4, 3, 2}, 1},
                                          {{4, 6, 2, 5}, {4, 6, 2}, 3}};

TEST(predicted_values, of_classes_are_those_of_torch) {
  at::manual_seed(5);
  for (const layout& each : with_classes) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
      const at::Tensor output = (at::randn(each.output) * 3).to(type);
      const at::Tensor label = at::zeros(each.label, at::kLong);
      ASSERT_EQ(class_dimension(output, &label), each.dimension);
      EXPECT_TRUE(at::equal(predictions_of(output, &label), output.to(at::kDouble).argmax(each.dimension)));
      const at::Tensor wanted = at::softmax(output.to(at::kDouble), each.dimension).movedim(each.dimension, -1);
      const at::Tensor found = get(probabilities_of(output, &label));
      EXPECT_EQ(found.scalar_type(), at::kFloat);
      EXPECT_TRUE(found.is_contiguous());
      EXPECT_TRUE(at::allclose(found.to(at::kDouble), wanted, 1e-7, 1e-12));
    }
  }
}

TEST(predicted_values, without_labels_take_columns_as_classes) {
  const at::Tensor output = at::tensor({1.0, 3.0, 2.0, 9.0, 8.0, 7.0}).view({2, 3});
  EXPECT_TRUE(at::equal(predictions_of(output, nullptr), at::tensor({1, 0}, at::kLong)));
}

TEST(predicted_values, that_are_no_classes_are_the_outputs) {
  const at::Tensor numbers = at::randn({6, 4});
  const at::Tensor targets = at::randn({6, 4});
  EXPECT_TRUE(at::equal(predictions_of(numbers, &targets), numbers));
  const at::Tensor one = at::randn({6, 1});
  const at::Tensor label = at::zeros({6}, at::kLong);
  EXPECT_TRUE(at::equal(predictions_of(one, &label), one));
  const at::Tensor ids = at::arange(6, at::kLong).view({3, 2});
  EXPECT_TRUE(at::equal(predictions_of(ids, nullptr), ids));
  EXPECT_TRUE(predictions_of(at::randn({2, 3, 4}).transpose(0, 2), nullptr).is_contiguous());
  const auto refused = probabilities_of(numbers, &targets);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().cause, ::testing::HasSubstr("[6, 4]"));
  EXPECT_THAT(refused.error().fix, ::testing::HasSubstr("--predictions-with outputs"));
}

TEST(predicted_values, of_odd_rows_are_said) {
  const at::Tensor output = at::tensor({1.0, NAN, 2.0, INFINITY, 1.0, 0.0, -INFINITY, 4.0, 4.0}).view({3, 3});
  const at::Tensor label = at::zeros({3}, at::kLong);
  EXPECT_TRUE(at::equal(predictions_of(output, &label), at::tensor({1, 0, 1}, at::kLong)));
  const at::Tensor found = get(probabilities_of(output, &label));
  EXPECT_TRUE(found[0].isnan().all().item<bool>());
  EXPECT_TRUE(found[1].isnan().any().item<bool>());
  EXPECT_TRUE(at::equal(found[2], at::tensor({0.0F, 0.5F, 0.5F})));
}

}  // namespace
}  // namespace troupe
