#include "runtime/partition/partition_layers.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "messages/check.hpp"
#include "runtime/partition/boundaries.hpp"
#include "runtime/partition/type_regex.hpp"

namespace troupe {
namespace {

template <class Weigh>
std::vector<double> weigh(std::span<const layer_weight> layers, Weigh weigh_one) {
  std::vector<double> weights;
  std::transform(layers.begin(), layers.end(), std::back_inserter(weights), weigh_one);
  return weights;
}

expected<part_boundaries> by_type(const std::string& regex, std::span<const layer_weight> layers, std::size_t stages) {
  std::vector<std::string> names;
  for (const layer_weight& layer : layers) {
    names.push_back(layer.type_name);
  }
  return match_types(regex, names).and_then([&](const std::vector<double>& weights) -> expected<part_boundaries> {
    const auto matches = static_cast<std::size_t>(std::count(weights.begin(), weights.end(), 1.0));
    if (matches < stages) {
      return fail(error_code::partition_no_match, "partition type:" + regex,
                  fmt::format("{} layer{} match{}, fewer than the {} stages; the layers are: {}", matches,
                              matches == 1 ? "" : "s", matches == 1 ? "es" : "", stages, list_types(names)),
                  fmt::format("use at most {} stage{}, or an expression that matches more layers", matches,
                              matches == 1 ? "" : "s"));
    }
    return partition_balanced(weights, stages);
  });
}

tl::unexpected<error> balanced_needs_weights() {
  return fail(error_code::flags_contradict, "partition balanced", "balanced is for a bare list of weights",
              "choose parameters, which balances the layers' parameters");
}

expected<part_boundaries> cut_by_method(const partition_method& method, std::span<const layer_weight> layers,
                                        std::size_t stages) {
  switch (method.kind) {
    case partition_kind::uniform:
      return partition_uniform(layers.size(), stages);
    case partition_kind::parameters:
      return partition_balanced(weigh(layers, [](const auto& l) { return static_cast<double>(l.parameters); }), stages);
    case partition_kind::type_regex:
      return by_type(method.regex, layers, stages);
    case partition_kind::profile: {
      const std::vector<double> seconds = weigh(layers, [](const auto& l) { return l.seconds; });
      return check_weights(seconds, "layer").map([&] { return minimise_slowest(seconds, stages); });
    }
    case partition_kind::boundaries:
      return check_boundaries(method, layers.size(), stages, "layer");
    case partition_kind::balanced:
      return balanced_needs_weights();
    case partition_kind::automatic:
      break;
  }
  TROUPE_CHECK(false, "a method is one of its kinds, and auto is settled before layers are cut");
}

}  // namespace

partition_method settle(const partition_method& method, std::size_t layers, std::size_t stages, bool can_be_timed) {
  if (method.kind != partition_kind::automatic) return method;
  const bool is_choice = stages > 1 && layers > stages;
  return {.kind = can_be_timed && is_choice ? partition_kind::profile : partition_kind::parameters,
          .regex = {},
          .boundaries = {}};
}

expected<part_boundaries> partition_layers(const partition_method& method, std::span<const layer_weight> layers,
                                           std::size_t stages) {
  return check_parts(stages)
      .and_then([&] { return check_enough(layers.size(), stages, "layer"); })
      .and_then([&] { return cut_by_method(method, layers, stages); })
      .map([](part_boundaries boundaries) {
        TROUPE_CHECK(
            std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>{}) == boundaries.end(),
            "no method leaves a stage without layers");
        return boundaries;
      });
}

}  // namespace troupe
