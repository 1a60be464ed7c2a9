#include "runtime/optimizer/optimizer_options.hpp"

#include <array>

namespace troupe {

std::span<const std::string_view> moment_names(const optimizer_options& options) {
  static constexpr std::array<std::string_view, 1> momentum = {"momentum_buffer"};
  static constexpr std::array<std::string_view, 3> averages = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  if (options.kind != optimizer_kind::sgd) return std::span(averages).first(options.amsgrad ? 3 : 2);
  return options.momentum != 0 ? std::span<const std::string_view>(momentum) : std::span<const std::string_view>();
}

}  // namespace troupe
