// Goal: what a metric keeps of each sample reaches its end whole, in the order of the samples, with the samples' own
// numbers, and no words of a peer that lies can break that. Method: a metric that keeps rows beside metrics that do
// not, through a scorer and a fold, against a plain loop; words that are changed in every place.
#include <gmock/gmock.h>

#include "runtime/metric/metric_fold.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/metric/score_layout.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "tests/runtime/metric/one_part.hpp"
#include <troupe/metric_of.hpp>

namespace troupe {
namespace {

using ::testing::HasSubstr;

struct kept_row {
  std::uint64_t sample = 0;
  double sum = 0;
};

/// Keeps a row of each sample with an output above 0: none of some micro-batches. It sees two outputs by name.
class positive_rows final : public row_metric<kept_row> {
 public:
  positive_rows() : row_metric("positive_rows") {}

  mutable std::vector<kept_row> seen;

 private:
  [[nodiscard]] expected<void> collect(const scored_part& part, std::vector<kept_row>& rows) const override {
    const at::Tensor& first = part.outputs().at("first");
    const at::Tensor& second = part.outputs().at("second");
    for (std::size_t i = 0; i < part.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      const double sum = first[row].item<double>() + second[row].item<double>();
      if (sum > 0) rows.push_back({part.sample(i), sum});
    }
    return {};
  }
  [[nodiscard]] metric_value compute(std::span<const kept_row> rows) const override {
    seen.assign(rows.begin(), rows.end());
    return {name(), {count_field("rows", rows.size())}};
  }
};

/// Counts samples with words alone, and needs no output of its own.
class sample_count final : public part_metric_of<mean_state> {
 public:
  sample_count() : part_metric_of("sample_count") {}

 private:
  [[nodiscard]] expected<void> update_part(const scored_part& part, mean_state& state) const override {
    state.count += part.size();
    return {};
  }
  void merge(mean_state& total, const mean_state& part) const override { total.count += part.count; }
  [[nodiscard]] metric_value compute(const mean_state& total) const override {
    return {name(), {count_field("count", total.count)}};
  }
};

payload_ptr two_outputs(const at::Tensor& first, const at::Tensor& second) {
  return std::make_shared<const tensor_set>(std::vector<at::Tensor>{first, second},
                                            std::vector<std::string>{"first", "second"});
}

activation micro_batch(std::uint64_t index, std::uint64_t size) {
  activation input;
  input.id = {0, index};
  input.samples = {index * size, (index + 1) * size};
  return input;
}

score scored(const std::vector<metric_ptr>& metrics, const payload_ptr& outputs, const activation& input) {
  score made;
  made.id = input.id;
  get(metric_scorer(metrics).evaluate(outputs, input, made));
  return made;
}

TEST(rows, come_to_the_end_in_the_order_of_the_samples) {
  at::manual_seed(7);
  const at::Tensor first = at::randn({60}, at::kDouble) - 0.5;
  const at::Tensor second = at::randn({60}, at::kDouble);
  const auto rows = std::make_shared<positive_rows>();
  const auto others = std::make_shared<positive_rows>();
  const std::vector<metric_ptr> metrics = {rows, std::make_shared<sample_count>(), others};
  metric_fold fold(metrics);
  for (std::uint64_t index = 0; index < 20; ++index) {
    const auto begin = static_cast<std::int64_t>(3 * index);
    get(fold.fold(
        scored(metrics, two_outputs(first.narrow(0, begin, 3), second.narrow(0, begin, 3)), micro_batch(index, 3))));
  }
  const auto values = get(fold.compute());
  std::size_t at = 0;
  for (std::int64_t i = 0; i < 60; ++i) {
    const double sum = first[i].item<double>() + second[i].item<double>();
    if (sum <= 0) continue;
    ASSERT_LT(at, rows->seen.size());
    EXPECT_EQ(rows->seen[at].sample, static_cast<std::uint64_t>(i));
    EXPECT_EQ(rows->seen[at].sum, sum);
    ++at;
  }
  EXPECT_GT(at, 0U);
  EXPECT_EQ(rows->seen.size(), at);
  EXPECT_EQ(others->seen.size(), at);
  EXPECT_EQ(values[1].count("count"), 60U);
}

TEST(rows, of_a_part_have_the_samples_numbers_in_the_data) {
  const auto rows = std::make_shared<positive_rows>();
  const std::vector<metric_ptr> metrics = {rows};
  activation part = micro_batch(2, 10);
  part.rows = std::make_shared<const row_set>(row_set{1, 4, 9});
  metric_fold fold(metrics);
  get(fold.fold(scored(metrics, two_outputs(at::ones({3}), at::ones({3})), part)));
  ASSERT_TRUE(fold.compute());
  ASSERT_EQ(rows->seen.size(), 3U);
  EXPECT_EQ(rows->seen[0].sample, 21U);
  EXPECT_EQ(rows->seen[1].sample, 24U);
  EXPECT_EQ(rows->seen[2].sample, 29U);
}

TEST(rows, of_a_peer_that_lies_are_refused_and_change_nothing) {
  const std::vector<metric_ptr> metrics = {std::make_shared<positive_rows>(), std::make_shared<positive_rows>()};
  const score fine = scored(metrics, two_outputs(at::ones({3}), at::ones({3})), micro_batch(0, 3));
  ASSERT_EQ(fine.words.size(), odd_words + 2 * (1 + 6));
  for (std::size_t size = 0; size < fine.words.size(); ++size) {
    const std::span cut = std::span(fine.words).first(size);
    EXPECT_FALSE(rows_in(metrics, cut)) << size;
  }
  for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{8}, std::uint64_t{47}, std::uint64_t{96},
                                    std::uint64_t{1} << 62, ~std::uint64_t{0}, ~std::uint64_t{15}}) {
    score lie = fine;
    lie.words[odd_words] = bytes;
    metric_fold fold(metrics);
    const auto refused = fold.fold(lie);
    ASSERT_FALSE(refused) << bytes;
    EXPECT_EQ(refused.error().code, error_code::wire_malformed);
    EXPECT_EQ(fold.micro_batches(), 0U);
    EXPECT_EQ(get(fold.compute())[0].count("rows"), 0U);
  }
  score longer = fine;
  longer.words.push_back(0);
  EXPECT_FALSE(rows_in(metrics, longer.words));
}

/// Keeps so many bytes of each micro-batch.
class many_bytes final : public metric {
 public:
  explicit many_bytes(std::size_t bytes) : bytes_(bytes) {}
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::size_t words() const noexcept override { return 0; }
  [[nodiscard]] std::size_t row_bytes() const noexcept override { return 1; }
  [[nodiscard]] expected<void> update_words(const scored_part&, std::span<std::uint64_t>,
                                            std::vector<std::byte>& rows) const override {
    rows.resize(bytes_);
    return {};
  }
  void merge_words(std::span<std::uint64_t>, std::span<const std::uint64_t>) const override {}
  [[nodiscard]] metric_value compute_total(const metric_total& total) const override {
    return {name_, {count_field("bytes", total.rows.size())}};
  }

 private:
  std::string name_ = "many_bytes";
  std::size_t bytes_;
};

TEST(rows, of_one_micro_batch_are_bounded_where_they_travel) {
  const std::size_t most = 8 * (limits::score_words_max - odd_words - 1);
  const payload_ptr outputs = make_tensors(at::ones({3}));
  const std::vector<metric_ptr> fits = {std::make_shared<many_bytes>(most)};
  score into;
  get(metric_scorer(fits, {}, limits::score_words_max).evaluate(outputs, micro_batch(0, 3), into));
  EXPECT_EQ(into.words.size(), limits::score_words_max);
  const std::vector<metric_ptr> more = {std::make_shared<many_bytes>(most + 1)};
  get(metric_scorer(more).evaluate(outputs, micro_batch(1, 3), into));
  const auto refused = metric_scorer(more, {}, limits::score_words_max).evaluate(outputs, micro_batch(1, 3), into);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::metric_failed);
  EXPECT_THAT(to_string(refused.error()), HasSubstr("use smaller micro-batches"));
}

TEST(rows, of_a_call_are_bounded) {
  const std::vector<metric_ptr> metrics = {std::make_shared<many_bytes>(7u << 20)};
  score part = scored(metrics, make_tensors(at::ones({3})), micro_batch(0, 3));
  metric_fold fold(metrics, 3, 3000);
  std::uint64_t folded = 0;
  expected<void> done;
  while (done) {
    part.id.index = folded;
    done = fold.fold(part);
    if (done) ++folded;
  }
  EXPECT_EQ(folded, limits::metric_rows_bytes_max / (7u << 20));
  EXPECT_EQ(done.error().code, error_code::metric_failed);
  EXPECT_THAT(to_string(done.error()), HasSubstr("--limit"));
}

TEST(several_outputs, of_which_none_is_chosen_are_all_looked_at_for_odd_values) {
  const at::Tensor nan = at::tensor({1.0, NAN, 3.0});
  const at::Tensor both = at::tensor({1.0, NAN, INFINITY});
  const std::vector<metric_ptr> metrics = {std::make_shared<sample_count>()};
  const score made = scored(metrics, two_outputs(nan, both), micro_batch(0, 3));
  EXPECT_EQ(std::vector(made.words.end() - 2, made.words.end()), (std::vector<std::uint64_t>{1, 1}));
  score chosen;
  get(metric_scorer(metrics, {.output = "first"}).evaluate(two_outputs(nan, both), micro_batch(0, 3), chosen));
  EXPECT_EQ(std::vector(chosen.words.end() - 2, chosen.words.end()), (std::vector<std::uint64_t>{1, 0}));
}

}  // namespace
}  // namespace troupe
