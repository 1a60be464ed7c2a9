// Goal: a score of eval_batch comes out of its words as loss_scorer made it, to the last bit; words that no worker can
// have packed are refused with a reason, and read nothing beyond them. Method: both scorers over the same tensors; one
// word after another replaced, and every length shorter than the true one.
#include "runtime/metric/packed_score.hpp"

#include <limits>

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "runtime/tensor/tensor_set.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;

std::vector<at::Tensor> two_parts(const at::Tensor& outputs, const at::Tensor& labels) {
  return {outputs.sum() / 3, (labels * std::numeric_limits<double>::infinity()).sum()};
}

score score_by(scorer& by, const at::Tensor& outputs) {
  activation input;
  input.id = {4, 5};
  input.samples = {10, 10 + static_cast<std::uint64_t>(outputs.size(0))};
  input.labels = make_tensors(at::ones({outputs.size(0)}));
  score made;
  made.id = input.id;
  const auto done = by.evaluate(make_tensors(outputs), input, made);
  EXPECT_TRUE(done) << (done ? "" : to_string(done.error()));
  return made;
}

score packed(const at::Tensor& outputs, loss_request request) {
  packing_scorer by(two_parts, request);
  return score_by(by, outputs);
}

/// Not contiguous.
at::Tensor some_outputs(std::int64_t rows, at::ScalarType type) {
  return at::arange(7 * rows).sin().view({7, rows}).t().to(type);
}

TEST(a_packed_score, comes_out_as_it_was_made) {
  for (const auto content : {score_content::loss, score_content::outputs, score_content::loss_and_outputs}) {
    for (const std::uint32_t sink : {0U, 1U}) {
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kByte}) {
        const loss_request request = request_of(content, sink);
        const at::Tensor outputs = some_outputs(3, type);
        loss_scorer plain(two_parts, request);
        const score wanted = score_by(plain, outputs);
        score found = packed(outputs, request);
        EXPECT_EQ(found.outputs, nullptr) << "words alone travel";
        ASSERT_EQ(unpack(found, request), std::nullopt);
        EXPECT_EQ(found.words, wanted.words);
        EXPECT_EQ(found.samples, wanted.samples);
        ASSERT_EQ(found.outputs == nullptr, wanted.outputs == nullptr);
        if (!wanted.outputs) continue;
        EXPECT_TRUE(at::equal(as_tensors(found.outputs).single(), as_tensors(wanted.outputs).single()));
        EXPECT_EQ(as_tensors(found.outputs).single().strides(), as_tensors(wanted.outputs).single().strides());
      }
    }
  }
}

TEST(a_packed_score, holds_outputs_up_to_its_limit) {
  const auto bytes = static_cast<std::int64_t>(limits::score_words_max * 8);
  constexpr loss_request request = {.compute_loss = false, .keep_outputs = true};
  score most = packed(at::zeros({1, bytes - 80}, at::kByte), request);
  EXPECT_LE(most.words.size(), limits::score_words_max);
  EXPECT_EQ(unpack(most, request), std::nullopt);

  packing_scorer by({}, request);
  activation input;
  score made;
  const auto refused = by.evaluate(make_tensors(at::zeros({1, bytes}, at::kByte)), input, made);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::metric_failed);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("a score between processes holds 8388608"));
}

std::string objection_to(std::vector<std::uint64_t> content, loss_request asked) {
  score said;
  said.words = std::move(content);
  return unpack(said, asked).value_or("");
}

TEST(a_packed_score, is_refused_where_it_has_other_content) {
  constexpr loss_request loss = {.compute_loss = true, .keep_outputs = false};
  constexpr loss_request outputs = {.compute_loss = false, .keep_outputs = true};
  constexpr loss_request none = {.compute_loss = false, .keep_outputs = false};
  EXPECT_EQ(objection_to({1, 7}, loss), "");
  EXPECT_EQ(objection_to({0}, none), "");
  EXPECT_THAT(objection_to({}, loss), HasSubstr("score.words are none"));
  EXPECT_THAT(objection_to({0}, loss), HasSubstr("the loss has 0 parts"));
  EXPECT_THAT(objection_to({1}, loss), HasSubstr("the loss has 1 parts"));
  EXPECT_THAT(objection_to({~std::uint64_t{0}, 7}, loss), HasSubstr("parts"));
  EXPECT_THAT(objection_to({1, 7}, outputs), HasSubstr("the loss has 1 parts"));
  EXPECT_THAT(objection_to({1, 7, 8}, loss), HasSubstr("score.words have 1 that were not asked for"));
  EXPECT_THAT(objection_to({0, 8}, none), HasSubstr("not asked for"));
  EXPECT_THAT(objection_to({0}, outputs), HasSubstr("no outputs that can be read"));
  EXPECT_THAT(objection_to({0, 0}, outputs), HasSubstr("no outputs that can be read"));
  EXPECT_THAT(objection_to({0, ~std::uint64_t{0}, 1}, outputs), HasSubstr("no outputs that can be read"));
}

TEST(a_packed_score, is_refused_where_its_outputs_are_cut_or_changed) {
  constexpr loss_request request = {.compute_loss = true, .keep_outputs = true};
  const std::vector<std::uint64_t> truth = packed(some_outputs(2, at::kFloat), request).words;
  for (std::size_t size = 0; size < truth.size(); ++size) {
    EXPECT_NE(objection_to({truth.begin(), truth.begin() + static_cast<std::ptrdiff_t>(size)}, request), "") << size;
  }
  for (std::size_t at = 0; at < truth.size(); ++at) {
    for (const std::uint64_t other : {std::uint64_t{0}, truth[at] + 1, ~std::uint64_t{0}}) {
      score said;
      said.words = truth;
      said.words[at] = other;
      if (unpack(said, request)) continue;
      // a number of the worker's own: every value can be read
      EXPECT_EQ(said.words.size(), 2u);
      EXPECT_TRUE(as_tensors(said.outputs).single().sum().defined());
    }
  }
}

}  // namespace
}  // namespace troupe
