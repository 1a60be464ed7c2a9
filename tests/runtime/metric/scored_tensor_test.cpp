// Goal: a loss takes the output and the label that are chosen by name, whatever else there is, and refuses to guess.
// Method: a set of two outputs and one of two labels, each constant, so that the loss says which ones it got.
#include "runtime/metric/scored_tensor.hpp"

#include <bit>

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/metric/loss.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

payload_ptr two(const std::string& first, double one, const std::string& second, double other) {
  return std::make_shared<const tensor_set>(std::vector<at::Tensor>{at::full({3}, one), at::full({3}, other)},
                                            std::vector<std::string>{first, second});
}

std::vector<at::Tensor> tell(const at::Tensor& outputs, const at::Tensor& labels) {
  return {outputs.mean() * 100 + labels.mean()};
}

activation with_labels() {
  activation input;
  input.samples = {0, 3};
  input.labels = two("start", 1, "end", 2);
  return input;
}

expected<score> score_of(loss_request request, scored_names names) {
  loss_scorer scorer(tell, request, std::move(names));
  score made;
  return scorer.evaluate(two("logits", 3, "hidden", 4), with_labels(), made).map([&] { return made; });
}

double loss_of(const std::string& output, const std::string& label) {
  return std::bit_cast<double>(get(score_of({}, {output, label})).words.at(0));
}

TEST(loss_scorer, takes_the_chosen_output_and_label) {
  EXPECT_EQ(loss_of("logits", "start"), 301);
  EXPECT_EQ(loss_of("hidden", "end"), 402);
  const score kept = get(score_of({.compute_loss = false, .keep_outputs = true}, {.output = "hidden"}));
  EXPECT_TRUE(at::equal(as_tensors(kept.outputs).single(), at::full({3}, 4.0)));
}

TEST(loss_scorer, does_not_guess) {
  const auto told = [](loss_request request, scored_names names) {
    const auto refused = score_of(request, std::move(names));
    EXPECT_FALSE(refused);
    return refused ? std::string() : to_string(refused.error());
  };
  EXPECT_THAT(told({}, {}), AllOf(HasSubstr("E0603"), HasSubstr("logits, hidden"), HasSubstr("--score-output NAME")));
  EXPECT_THAT(told({}, {.output = "logits"}), AllOf(HasSubstr("start, end"), HasSubstr("--score-label NAME")));
  EXPECT_THAT(told({}, {"logit", "end"}), AllOf(HasSubstr("no tensor \"logit\""), HasSubstr("logits, hidden")));
  EXPECT_THAT(told({.compute_loss = false, .keep_outputs = true}, {}), HasSubstr("logits, hidden"));
  EXPECT_TRUE(score_of({.compute_loss = false, .keep_outputs = false}, {})) << "a sink that scores nothing";
}

}  // namespace
}  // namespace troupe
