#include "runtime/partition/weights.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "messages/limits.hpp"
#include "runtime/partition/boundaries.hpp"
#include "runtime/suggest/trimmed.hpp"

namespace troupe {
namespace {

tl::unexpected<error> bad_weights(std::string cause) {
  return fail(error_code::partition_bad_weights, "partition", std::move(cause),
              fmt::format("give 1 to {} numbers that are not negative, for example 1,2,0.5", limits::layers_max));
}

tl::unexpected<error> not_for_weights(std::string_view method) {
  return fail(error_code::flags_contradict, "partition",
              fmt::format("{} needs the layers of a model, and there is only a list of weights", method),
              "choose uniform or balanced, or give a model instead of weights");
}

}  // namespace

expected<void> check_weights(std::span<const double> weights, std::string_view what) {
  if (weights.empty() || weights.size() > limits::layers_max) {
    return bad_weights(fmt::format("there are {} {}s, allowed are 1 to {}", weights.size(), what, limits::layers_max));
  }
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
      return bad_weights(fmt::format("{} {} weighs {}", what, i, weights[i]));
    }
    sum += weights[i];
  }
  if (!std::isfinite(sum)) {
    return bad_weights(fmt::format("the {}s together weigh more than a number can hold", what));
  }
  return {};
}

expected<std::vector<double>> parse_weights(std::string_view text) {
  std::vector<double> weights;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view field = trimmed(text.substr(at, comma - at));
    double value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc{} || end != field.data() + field.size()) {
      return bad_weights(fmt::format("'{}' (number {} of the list) is not a number", field, weights.size() + 1));
    }
    weights.push_back(value);
    at = comma + 1;
  }
  return check_weights(weights, "weight").map([&] { return std::move(weights); });
}

expected<part_boundaries> partition_weights(const partition_method& method, std::span<const double> weights,
                                            std::size_t parts) {
  if (auto ok = check_weights(weights, "weight").and_then([&] { return check_parts(parts); }); !ok) {
    return tl::make_unexpected(std::move(ok.error()));
  }
  switch (method.kind) {
    case partition_kind::uniform:
      return partition_uniform(weights.size(), parts);
    case partition_kind::balanced:
      return partition_balanced(weights, parts);
    case partition_kind::profile:
      return check_enough({.what = "weight", .count = weights.size()}, parts).map([&] {
        return minimise_slowest(weights, parts);
      });
    case partition_kind::boundaries:
      return check_boundaries(method, weights.size(), parts, "weight");
    case partition_kind::automatic:
    case partition_kind::parameters:
    case partition_kind::type_regex:
      break;
  }
  return not_for_weights(to_string(method));
}

std::string boundaries_json(const part_boundaries& boundaries) {
  return fmt::format(R"({{"boundaries":[{}]}})", fmt::join(boundaries, ","));
}

}  // namespace troupe
