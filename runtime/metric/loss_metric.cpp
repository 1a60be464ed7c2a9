#include <cmath>
#include <sstream>

#include "messages/try.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/output_rows.hpp"
#include <troupe/metric_of.hpp>

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

template <class Loss>
class loss_metric : public mean_metric {
 public:
  loss_metric() : mean_metric(Loss::name) {}

 protected:
  [[nodiscard]] expected<void> update(const at::Tensor& outputs, const at::Tensor& labels,
                                      mean_state& state) const override {
    if (expected<void> fine = check_outputs(name(), outputs, labels); !fine) return fine;
    const label_column column = labels_of(labels);
    with_rows_of(outputs, [&](const auto& rows) {
      for (std::int64_t i = 0; i < rows.samples; ++i) state.sum += Loss::of(rows, i, column.at(i));
    });
    state.count += static_cast<std::uint64_t>(outputs.size(0));
    return {};
  }
};

/// Wide enough for log-probabilities in bfloat16; logits are nowhere near.
constexpr double probability_tolerance = 0.05;

template <class T>
double probability_sum(const output_rows<T>& rows, std::int64_t sample) noexcept {
  double sum = 0;
  for (std::int64_t j = 0; j < rows.classes; ++j) sum += std::exp(static_cast<double>(rows.at(sample, j)));
  return sum;
}

class nll_metric final : public loss_metric<nll_loss> {
 public:
  /// A row with NaN is the model's business and says nothing about what the outputs mean.
  [[nodiscard]] expected<void> judge(const scored_part& part) const override {
    const at::Tensor& outputs = *TROUPE_TRY(part.output());
    expected<void> verdict;
    with_rows_of(outputs, [&](const auto& rows) {
      for (std::int64_t i = 0; i < rows.samples && verdict; ++i) {
        const double sum = probability_sum(rows, i);
        if (std::abs(sum - 1) > probability_tolerance) verdict = no_probabilities(outputs, i, sum);
      }
    });
    return verdict;
  }

 private:
  [[nodiscard]] expected<void> no_probabilities(const at::Tensor& outputs, std::int64_t sample, double sum) const {
    std::ostringstream cause;
    cause << "expected log-probabilities, found outputs " << c10::toString(outputs.scalar_type()) << ' '
          << outputs.sizes() << " whose exponentials add up to " << sum << " and not to 1 in sample " << sample;
    return fail(error_code::metric_does_not_fit, name(), cause.str(),
                "use cross_entropy, which takes logits, or end the model with log_softmax");
  }
};

}  // namespace

expected<metric_ptr> make_cross_entropy(const metric_request&) {
  return std::make_shared<const loss_metric<cross_entropy_loss>>();
}

expected<metric_ptr> make_nll(const metric_request&) {
  return std::make_shared<const nll_metric>();
}

}  // namespace troupe
