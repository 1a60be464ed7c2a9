// Goal: the total of the sums over the total of the weights is the mean of PyTorch's function of the same name. Method:
// LibTorch's own mean over the whole batch, against two uneven parts.
#include <gmock/gmock.h>
#include <torch/csrc/autograd/autograd.h>

#include "runtime/tensor/tensor_set.hpp"
#include "runtime/training/training_loss.hpp"
#include "tests/support/formula_tensors.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

expected<loss_terms> terms_of(const training_loss& loss, const at::Tensor& outputs, const at::Tensor& labels) {
  const auto rows = static_cast<std::uint64_t>(labels.size(0));
  return loss.of(make_tensors(outputs),
                 {.id = {}, .samples = {0, rows}, .tensors = nullptr, .labels = make_tensors(labels)});
}

void expect_mean(const training_loss& loss, const at::Tensor& outputs, const at::Tensor& labels,
                 const at::Tensor& mean) {
  const auto first = get(terms_of(loss, outputs.slice(0, 0, 4), labels.slice(0, 0, 4)));
  const auto second = get(terms_of(loss, outputs.slice(0, 4), labels.slice(0, 4)));
  const double found = (first.sum.item<double>() + second.sum.item<double>()) / (first.weight + second.weight);
  EXPECT_NEAR(found, mean.item<double>(), 1e-6 * std::abs(mean.item<double>())) << name_of(loss.kind);
}

const at::Tensor scores = formula_uniform("scores", {7, 5}) * 3;
const at::Tensor classes = formula_below("classes", {7}, 5);

TEST(training_loss, cross_entropy_is_that_of_pytorch) {
  using at::cross_entropy_loss;
  expect_mean({}, scores, classes, cross_entropy_loss(scores, classes));
  expect_mean({}, scores, classes.view({7, 1}), cross_entropy_loss(scores, classes));
  expect_mean({}, scores, classes.to(at::kInt), cross_entropy_loss(scores, classes));
  const at::Tensor some = classes.masked_fill(at::arange(7).lt(3), -100);
  const at::Tensor weights = at::tensor({0.5F, 1.F, 2.F, 3.F, 0.25F});
  const std::vector<double> as_list = {0.5, 1, 2, 3, 0.25};
  expect_mean({}, scores, some, cross_entropy_loss(scores, some));
  expect_mean({.ignore_index = 2}, scores, classes, cross_entropy_loss(scores, classes, {}, at::Reduction::Mean, 2));
  expect_mean({.label_smoothing = 0.1}, scores, some,
              cross_entropy_loss(scores, some, {}, at::Reduction::Mean, -100, 0.1));
  expect_mean({.label_smoothing = 0.1, .class_weights = as_list}, scores, some,
              cross_entropy_loss(scores, some, weights, at::Reduction::Mean, -100, 0.1));
  const at::Tensor shares = formula_uniform("shares", {7, 5}).softmax(1);
  expect_mean({.class_weights = as_list}, scores, shares, cross_entropy_loss(scores, shares, weights));
}

TEST(training_loss, tokens_may_have_their_classes_last_or_as_pytorch_has_them) {
  const at::Tensor tokens = formula_uniform("tokens", {7, 3, 5});
  const at::Tensor labels = formula_below("labels", {7, 3}, 5);
  const at::Tensor mean = at::cross_entropy_loss(tokens.transpose(1, 2), labels);
  expect_mean({}, tokens, labels, mean);
  expect_mean({}, tokens.transpose(1, 2).contiguous(), labels, mean);
}

TEST(training_loss, the_other_losses_are_those_of_pytorch) {
  const at::Tensor logarithms = scores.log_softmax(1);
  expect_mean({.kind = loss_kind::nll}, logarithms, classes, at::nll_loss(logarithms, classes));
  const at::Tensor targets = formula_uniform("targets", {7, 5});
  expect_mean({.kind = loss_kind::mse}, scores, targets, at::mse_loss(scores, targets));
  expect_mean({.kind = loss_kind::l1}, scores, targets, at::l1_loss(scores, targets));
  expect_mean({.kind = loss_kind::mse}, scores.slice(1, 0, 1), targets.select(1, 0),
              at::mse_loss(scores.select(1, 0), targets.select(1, 0)));
  const at::Tensor bits = targets.gt(0).to(at::kLong);
  expect_mean({.kind = loss_kind::bce_with_logits}, scores, bits,
              at::binary_cross_entropy_with_logits(scores, bits.to(at::kFloat)));
}

TEST(training_loss, a_users_loss_has_its_own_weight) {
  const auto mean = [](const at::Tensor& outputs, const at::Tensor&) {
    return std::vector<at::Tensor>{outputs.square().mean()};
  };
  const training_loss loss{.kind = loss_kind::custom, .function = loss_of_mean(mean)};
  expect_mean(loss, scores, classes, scores.square().mean());
  const training_loss thrown{.kind = loss_kind::custom,
                             .function = [](const at::Tensor&, const at::Tensor&) -> loss_terms {
                               throw std::runtime_error("no such label");
                             }};
  EXPECT_THAT(to_string(terms_of(thrown, scores, classes).error()),
              HasSubstr("E0602: the loss of the user: no such label"));
  const training_loss many{.kind = loss_kind::custom, .function = [](const at::Tensor& outputs, const at::Tensor&) {
                             return loss_terms{outputs, 1};
                           }};
  EXPECT_THAT(terms_of(many, scores, classes).error().cause, HasSubstr("not a tensor of one element"));
}

TEST(training_loss, names_what_does_not_fit) {
  EXPECT_THAT(terms_of({}, scores, classes + 4).error().cause, HasSubstr("expected labels from 0 to 4, or -100"));
  EXPECT_THAT(terms_of({}, scores, classes.slice(0, 1)).error().cause, HasSubstr("Float [7, 5] and labels Long [6]"));
  EXPECT_THAT(terms_of({.class_weights = {1, 2}}, scores, classes).error().cause,
              HasSubstr("2 weights of classes, and the model has 5"));
  EXPECT_THAT(terms_of({.kind = loss_kind::mse}, scores, classes).error().cause, HasSubstr("labels of their shape"));
  EXPECT_EQ(training_loss{}.of(make_tensors(scores), {}).error().where, "the loss cross_entropy");
  EXPECT_EQ(loss_kind_of("nll").value(), loss_kind::nll);
  EXPECT_EQ(loss_kind_of("custom").error().fix, "use one of cross_entropy, nll, mse, l1, bce_with_logits");
}

TEST(training_loss, is_taken_out_of_the_outputs) {
  EXPECT_FALSE(take_loss(nullptr));
  EXPECT_FALSE(take_loss(make_tensors(scores)));
  const auto with = std::make_shared<const tensor_set>(
      std::vector<at::Tensor>{scores, at::full({1}, 2.5, at::kDouble), at::full({1}, 7, at::kDouble)},
      std::vector<std::string>{"", std::string(loss_sum_name), std::string(loss_weight_name)});
  const auto taken = take_loss(with);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->sum, 2.5);
  EXPECT_EQ(taken->weight, 7);
  EXPECT_TRUE(at::equal(as_tensors(taken->outputs).single(), scores));
}

}  // namespace
}  // namespace troupe::testing
