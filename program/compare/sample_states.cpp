#include "program/compare/sample_states.hpp"

#include <cstring>
#include <string>
#include <utility>

namespace troupe {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

std::size_t own_row_words(const metric& inner) noexcept {
  return (inner.row_bytes() + word_bytes - 1) / word_bytes;
}

named_tensors only_sample(const named_tensors& all, std::int64_t row) {
  named_tensors made;
  for (const auto& [name, tensor] : all) made.set(name, tensor.narrow(0, row, 1));
  return made;
}

/// Which of the tensors was chosen for the sink.
std::string name_of(const named_tensors& all, const expected<const at::Tensor*>& chosen) {
  for (const auto& [name, tensor] : all) {
    if (chosen && *chosen == &tensor) return name;
  }
  return {};
}

class states_of_samples final : public metric {
 public:
  explicit states_of_samples(metric_ptr inner) : inner_(std::move(inner)), name_(inner_->name() + " of each sample") {}

  const std::string& name() const noexcept override { return name_; }
  std::size_t words() const noexcept override { return 0; }
  std::size_t row_bytes() const noexcept override { return sample_state_words(*inner_) * word_bytes; }
  expected<void> update_words(const scored_part& part, std::span<std::uint64_t>,
                              std::vector<std::byte>& rows) const override {
    const scored_names names{name_of(part.outputs(), part.output()), name_of(part.labels(), part.label())};
    for (std::size_t row = 0; row < part.size(); ++row) {
      const std::uint64_t sample = part.sample(row);
      const auto at = static_cast<std::int64_t>(row);
      const scored_part one(only_sample(part.outputs(), at), only_sample(part.labels(), at), names,
                            {sample, sample + 1}, nullptr);
      const std::vector<std::uint64_t> state = state_of(one);
      const auto bytes = std::as_bytes(std::span(state));
      rows.insert(rows.end(), bytes.begin(), bytes.end());
    }
    return {};
  }
  void merge_words(std::span<std::uint64_t>, std::span<const std::uint64_t>) const override {}
  metric_value compute_total(const metric_total& total) const override {
    std::vector<std::uint64_t> words(total.rows.size() / word_bytes);
    if (!words.empty()) std::memcpy(words.data(), total.rows.data(), words.size() * word_bytes);
    return {name_, {count_list("words", words)}};
  }

 private:
  [[nodiscard]] std::vector<std::uint64_t> state_of(const scored_part& one) const {
    std::vector<std::uint64_t> state(sample_state_words(*inner_), 0);
    std::vector<std::byte> own_rows;
    const std::size_t count_at = inner_->words();
    const auto made = inner_->update_words(one, std::span(state).first(count_at), own_rows);
    const std::size_t own = inner_->row_bytes();
    if (!made || own_rows.size() > own) {
      state[count_at] = no_state;
      return state;
    }
    state[count_at] = own_rows.empty() ? 0 : 1;
    if (!own_rows.empty()) std::memcpy(&state[count_at + 1], own_rows.data(), own_rows.size());
    return state;
  }

  const metric_ptr inner_;
  const std::string name_;
};

}  // namespace

std::size_t sample_state_words(const metric& inner) noexcept {
  return inner.words() + 1 + own_row_words(inner);
}

metric_ptr make_sample_states(metric_ptr inner) {
  return std::make_shared<const states_of_samples>(std::move(inner));
}

sample_states::sample_states(metric_ptr inner, std::span<const std::uint64_t> words)
    : inner_(std::move(inner)), width_(sample_state_words(*inner_)), words_(words) {
  for (std::size_t at = inner_->words(); at < words_.size(); at += width_) {
    // a row from another process may say anything
    is_complete_ = is_complete_ && words_[at] <= (own_row_words(*inner_) > 0 ? 1U : 0U);
  }
}

double sample_states::value_of(std::span<const std::uint64_t> samples) const {
  const std::size_t own = inner_->row_bytes();
  std::vector<std::uint64_t> total(inner_->words(), 0);
  std::vector<std::byte> rows;
  for (const std::uint64_t sample : samples) {
    const auto state = words_.subspan(sample * width_, width_);
    inner_->merge_words(total, state.first(total.size()));
    if (state[total.size()] != 1) continue;
    const auto row = std::as_bytes(state.subspan(total.size() + 1)).first(own);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return inner_->compute_total({total, rows}).value();
}

}  // namespace troupe
