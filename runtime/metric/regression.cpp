#include <cmath>

#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/output_rows.hpp"
#include <troupe/metric_of.hpp>

namespace troupe {

namespace {

struct absolute_error {
  static constexpr const char* name = "mae";
  static double of(double difference) noexcept { return std::abs(difference); }
};

struct squared_error {
  static constexpr const char* name = "mse";
  static double of(double difference) noexcept { return difference * difference; }
};

/// The mean over all elements. Every element becomes a double before anything is computed.
template <class Error>
class regression_metric final : public mean_metric {
 public:
  regression_metric() : mean_metric(Error::name) {}

 private:
  [[nodiscard]] expected<void> update(const at::Tensor& outputs, const at::Tensor& labels,
                                      mean_state& state) const override {
    if (expected<void> fine = check_numbers(name(), outputs, labels); !fine) return fine;
    // Strides are for the order of elements alone: most outputs are contiguous, and then nothing is copied.
    const at::Tensor found = outputs.contiguous();
    const at::Tensor wanted = labels.contiguous();
    with_elements_of(found, [&](const auto* output) {
      with_elements_of(wanted, [&](const auto* label) {
        for (std::int64_t i = 0; i < found.numel(); ++i) {
          state.sum += Error::of(static_cast<double>(output[i]) - static_cast<double>(label[i]));
        }
      });
    });
    state.count += static_cast<std::uint64_t>(found.numel());
    return {};
  }
};

}  // namespace

expected<metric_ptr> make_mae(const metric_request&) {
  return std::make_shared<const regression_metric<absolute_error>>();
}

expected<metric_ptr> make_mse(const metric_request&) {
  return std::make_shared<const regression_metric<squared_error>>();
}

}  // namespace troupe
