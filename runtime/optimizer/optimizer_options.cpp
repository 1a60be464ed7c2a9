#include "runtime/optimizer/optimizer_options.hpp"

#include <array>
#include <cmath>
#include <string>

#include "messages/try.hpp"

namespace troupe {
namespace {

expected<void> check_range(const char* option, double value, double end, const char* range, const char* example) {
  if (std::isfinite(value) && value >= 0 && value < end) return {};
  return fail(error_code::value_out_of_range, std::string("optimizer, option ") + option,
              std::to_string(value) + ", expected a number " + range, std::string("set it to ") + example);
}

expected<void> check_positive(const char* option, double value, const char* example) {
  return check_range(option, value, 1e30, "that is not negative", example);
}

}  // namespace

std::span<const std::string_view> moment_names(const optimizer_options& options) {
  static constexpr std::array<std::string_view, 1> momentum = {"momentum_buffer"};
  static constexpr std::array<std::string_view, 3> averages = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  if (options.kind != optimizer_kind::sgd) return std::span(averages).first(options.amsgrad ? 3 : 2);
  return options.momentum != 0 ? std::span<const std::string_view>(momentum) : std::span<const std::string_view>();
}

expected<void> check(const optimizer_options& options) {
  TROUPE_TRY(check_positive("weight_decay", options.weight_decay, "0"));
  if (options.kind != optimizer_kind::sgd) {
    TROUPE_TRY(check_range("beta_1", options.beta_1, 1, "from 0 to below 1", "0.9"));
    TROUPE_TRY(check_range("beta_2", options.beta_2, 1, "from 0 to below 1", "0.999"));
    return check_positive("eps", options.eps, "1e-8");
  }
  TROUPE_TRY(check_positive("momentum", options.momentum, "0.9"));
  TROUPE_TRY(check_positive("dampening", options.dampening, "0"));
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0)) {
    return fail(error_code::value_out_of_range, "optimizer, option nesterov", "it needs momentum, and no dampening",
                "set momentum to 0.9 and dampening to 0");
  }
  return {};
}

}  // namespace troupe
