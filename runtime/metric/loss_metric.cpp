#include <cmath>

#include "messages/check.hpp"
#include "runtime/metric/fields.hpp"
#include "runtime/metric/kinds.hpp"
#include "runtime/metric/output_rows.hpp"

namespace troupe {

namespace {

/// log(sum of exp(x)) - x[label], shifted by the greatest x so that nothing overflows. NaN or +infinity among the
/// outputs give NaN; a label's output of -infinity gives +infinity.
struct cross_entropy_loss {
  static constexpr const char* name = "cross_entropy";

  template <class T>
  static double of(const output_rows<T>& rows, std::int64_t sample, std::int64_t label) noexcept {
    auto greatest = rows.at(sample, 0);
    for (std::int64_t j = 1; j < rows.classes; ++j) {
      const auto value = rows.at(sample, j);
      greatest = value > greatest ? value : greatest;
    }
    const auto shift = static_cast<double>(greatest);
    double sum = 0;
    for (std::int64_t j = 0; j < rows.classes; ++j) sum += std::exp(static_cast<double>(rows.at(sample, j)) - shift);
    return std::log(sum) - (static_cast<double>(rows.at(sample, label)) - shift);
  }
};

struct nll_loss {
  static constexpr const char* name = "nll";

  template <class T>
  static double of(const output_rows<T>& rows, std::int64_t sample, std::int64_t label) noexcept {
    return -static_cast<double>(rows.at(sample, label));
  }
};

/// State: the sum over samples as a bit pattern, and their number.
template <class Loss>
class loss_metric final : public metric {
 public:
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::size_t words() const noexcept override { return word_count; }

  [[nodiscard]] expected<void> update(const at::Tensor& outputs, const at::Tensor& labels,
                                      std::span<std::uint64_t> state) const override {
    TROUPE_CHECK(state.size() == word_count, "the caller asked words()");
    if (expected<void> fine = check_outputs(name_, outputs, labels); !fine) return fine;
    const label_column column = labels_of(labels);
    with_rows_of(outputs, [&](const auto& rows) {
      double running = std::bit_cast<double>(state[sum]);
      for (std::int64_t i = 0; i < rows.samples; ++i) running += Loss::of(rows, i, column.at(i));
      state[sum] = std::bit_cast<std::uint64_t>(running);
    });
    state[count] += static_cast<std::uint64_t>(outputs.size(0));
    return {};
  }

  void merge(std::span<std::uint64_t> into, std::span<const std::uint64_t> part) const override {
    TROUPE_CHECK(into.size() == word_count && part.size() == word_count, "states of one metric have one size");
    into[sum] = std::bit_cast<std::uint64_t>(std::bit_cast<double>(into[sum]) + std::bit_cast<double>(part[sum]));
    into[count] += part[count];
  }

  [[nodiscard]] metric_value compute(std::span<const std::uint64_t> state) const override {
    const auto total = std::bit_cast<double>(state[sum]);
    const double mean = total / static_cast<double>(state[count]);
    return {name_, {real_field("mean", mean), real_field("sum", total), count_field("count", state[count])}};
  }

 private:
  enum word : std::size_t { sum, count, word_count };

  std::string name_ = Loss::name;
};

}  // namespace

metric_ptr make_cross_entropy() {
  return std::make_shared<const loss_metric<cross_entropy_loss>>();
}

metric_ptr make_nll() {
  return std::make_shared<const loss_metric<nll_loss>>();
}

}  // namespace troupe
