// Goal: samples from any places of a data set stand in one block as if they stood beside each other in the set, also
// where they are padded to the longest of them. Method: texts and choices in a permuted order, against one read of all.
#include "runtime/data/gathered_samples.hpp"

#include <algorithm>
#include <numeric>
#include <random>

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sample_files.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

std::string text_file(const std::string& name) {
  return (data_dir() / "text" / name).string();
}

/// The numbers from 10 on, some of them still beside the next one.
std::vector<std::uint64_t> permuted(std::size_t count) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), 10);
  std::shuffle(order.begin(), order.end(), std::mt19937_64{3});
  std::sort(order.begin(), order.begin() + 4);
  order.insert(order.begin() + 2, {40, 41, 42});
  return order;
}

void expect_rows_of(const named_tensors& all, const named_tensors& found, const std::vector<std::uint64_t>& order) {
  ASSERT_EQ(found.size(), all.size());
  for (const auto& [name, tensor] : found) {
    ASSERT_EQ(tensor.sizes().slice(1), all.at(name).sizes().slice(1)) << name;
    for (std::size_t row = 0; row < order.size(); ++row) {
      const at::Tensor wanted = all.at(name)[static_cast<std::int64_t>(order[row])];
      EXPECT_TRUE(at::equal(tensor[static_cast<std::int64_t>(row)], wanted)) << name << ", row " << row;
    }
  }
}

/// The longest sample of all is among those that are chosen, so that both have its length.
void expect_as_one_read(const std::string& specification) {
  const data_set_ptr data = get(open_data(specification));
  ASSERT_TRUE(data->has_varying_sizes());
  const sample_block all = get(data->read({0, data->size()}));
  const at::Tensor lengths = all.inputs.at("attention_mask").sum(1);
  std::vector<std::uint64_t> order = permuted(20);
  order.push_back(static_cast<std::uint64_t>(lengths.argmax().item<std::int64_t>()));
  const sample_block found = get(gathered_samples(*data, order));
  expect_rows_of(all.inputs, found.inputs, order);
  expect_rows_of(all.labels, found.labels, order);
}

TEST(gathered_samples, are_texts_padded_to_the_longest_of_them) {
  expect_as_one_read("csv:" + text_file("reviews.csv") +
                     ",text=review,label=mood,tokenizer=" + text_file("classifier"));
}

TEST(gathered_samples, are_choices_with_labels_that_are_padded_too) {
  expect_as_one_read("choices:" + text_file("questions.jsonl") + ",tokenizer=" + text_file("language"));
}

TEST(gathered_samples, have_no_length_beyond_the_longest_of_them) {
  const data_set_ptr data = get(
      open_data("csv:" + text_file("reviews.csv") + ",text=review,label=mood,tokenizer=" + text_file("classifier")));
  const sample_block first = get(data->read({7, 8}));
  const sample_block second = get(data->read({3, 4}));
  const sample_block both = get(gathered_samples(*data, std::vector<std::uint64_t>{7, 3}));
  EXPECT_EQ(both.inputs.at("input_ids").size(1),
            std::max(first.inputs.at("input_ids").size(1), second.inputs.at("input_ids").size(1)));
}

/// Sample i is i + 1 ones; nothing says what could stand behind them.
class growing_set final : public data_set {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept override { return 8; }
  [[nodiscard]] std::vector<std::int64_t> sample_shape() const override { return {8}; }
  [[nodiscard]] std::uint32_t classes() const noexcept override { return 0; }
  [[nodiscard]] std::string name() const override { return "growing"; }
  [[nodiscard]] expected<sample_block> read(sample_range range) const override {
    const auto rows = static_cast<std::int64_t>(range.size());
    return sample_block{at::ones({rows, static_cast<std::int64_t>(range.end)}), at::zeros({rows}, at::kLong)};
  }
};

TEST(gathered_samples, of_other_sizes_without_padding_are_an_error_with_their_numbers) {
  const auto found = gathered_samples(growing_set(), std::vector<std::uint64_t>{5, 2});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, error_code::source_failed);
  EXPECT_THAT(found.error().cause, HasSubstr("sample 2 has another size or type than sample 5"));
  EXPECT_THAT(found.error().fix, HasSubstr("--order sequential"));
}

}  // namespace
}  // namespace troupe::testing
