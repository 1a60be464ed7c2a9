#include <algorithm>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/output_rows.hpp"

namespace troupe {

namespace {

class top_k_metric final : public metric {
 public:
  top_k_metric(std::string name, std::int64_t k) : name_(std::move(name)), k_(k) {}

  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::size_t words() const noexcept override { return word_count; }

  [[nodiscard]] expected<void> update_words(const scored_part& part, std::span<std::uint64_t> state,
                                            std::vector<std::byte>&) const override {
    const at::Tensor& outputs = *TROUPE_TRY(part.output());
    const at::Tensor& labels = *TROUPE_TRY(part.label());
    TROUPE_CHECK(state.size() == word_count, "the caller asked words()");
    if (expected<void> fine = check_k(outputs); !fine) return fine;
    if (expected<void> fine = check_outputs(name_, outputs, labels); !fine) return fine;
    with_rows_of(outputs, [&](const auto& rows) { state[correct] += count_correct(rows, labels_of(labels)); });
    state[total] += static_cast<std::uint64_t>(outputs.size(0));
    return {};
  }

  void merge_words(std::span<std::uint64_t> into, std::span<const std::uint64_t> part) const override {
    merge_counts(into, part);
  }

  [[nodiscard]] metric_value compute_total(const metric_total& all) const override {
    const std::span state = all.words;
    return {name_,
            {real_field("value", share(state[correct], state[total])), count_field("correct", state[correct]),
             count_field("total", state[total])},
            metric_form::share};
  }

 private:
  enum word : std::size_t { correct, total, word_count };

  /// Before labels are looked at: one that is no output follows from a K that is meant for another model.
  [[nodiscard]] expected<void> check_k(const at::Tensor& outputs) const {
    if (!outputs.defined() || outputs.dim() != 2 || outputs.size(1) == 0 || outputs.size(1) >= k_) return {};
    const std::string found = std::to_string(outputs.size(1));
    return fail(error_code::metric_failed, name_,
                "expected at least " + std::to_string(k_) + " outputs per sample, found " + found,
                "choose a K of " + found + " or less");
  }

  template <class T>
  std::uint64_t count_correct(const output_rows<T>& rows, label_column labels) const noexcept {
    std::uint64_t count = 0;
    for (std::int64_t i = 0; i < rows.samples; ++i) count += rank_of(rows, i, labels.at(i)) < k_ ? 1U : 0U;
    return count;
  }

  std::string name_;
  std::int64_t k_;
};

}  // namespace

expected<metric_ptr> make_top_k(const metric_request& asked) {
  return std::make_shared<const top_k_metric>(asked.name, std::max<std::int64_t>(1, asked.k));
}

}  // namespace troupe
