#include "runtime/partition/partition_layers.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

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

bool is_joined(const layer_weight& layer) {
  return !layer.joined_because.empty();
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

/// Why there are fewer places to cut than layers; of several reasons the first.
cut_items items_of(std::span<const layer_weight> layers, const cut_terms& terms) {
  cut_items items{.what = "layer",
                  .count = layers.size(),
                  .joined = layers.size() - most_stages(layers),
                  .because = terms.few_because};
  if (items.joined == 0 || !items.because.empty()) return items;
  const auto first = std::find_if(layers.begin() + 1, layers.end(), is_joined);
  items.because = fmt::format("before layer {} {}", first - layers.begin(), first->joined_because);
  return items;
}

expected<part_boundaries> check_allowed(part_boundaries given, std::span<const layer_weight> layers) {
  const auto joined = std::find_if(given.begin() + 1, given.end() - 1, [&](auto at) { return is_joined(layers[at]); });
  if (joined == given.end() - 1) return given;
  return fail(error_code::partition_bad_boundaries, fmt::format("partition {}", fmt::join(given, ",")),
              fmt::format("the model cannot be cut before layer {}: {}", *joined, layers[*joined].joined_because),
              fmt::format("use {}", fmt::join(moved_to_allowed(given, places_of(layers)), ",")));
}

tl::unexpected<error> balanced_needs_weights() {
  return fail(error_code::flags_contradict, "partition balanced", "balanced is for a bare list of weights",
              "choose parameters, which balances the layers' parameters");
}

expected<part_boundaries> by_profile(std::span<const layer_weight> layers, std::size_t stages, const cut_terms& terms) {
  const std::vector<double> seconds = weigh(layers, [](const auto& l) { return l.seconds; });
  return check_weights(seconds, "layer").map([&] {
    return minimise_slowest(seconds, places_of(layers), terms.cut_cost_seconds_per_byte, stages);
  });
}

expected<part_boundaries> cut_by_method(const partition_method& method, std::span<const layer_weight> layers,
                                        std::size_t stages, const cut_terms& terms) {
  const auto moved = [&](const part_boundaries& found) { return moved_to_allowed(found, places_of(layers)); };
  switch (method.kind) {
    case partition_kind::uniform:
      return moved(partition_uniform(layers.size(), stages));
    case partition_kind::parameters:
      return moved(
          partition_balanced(weigh(layers, [](const auto& l) { return static_cast<double>(l.parameters); }), stages));
    case partition_kind::type_regex:
      return by_type(method.regex, layers, stages).map(moved);
    case partition_kind::profile:
      return by_profile(layers, stages, terms);
    case partition_kind::boundaries:
      return check_boundaries(method, layers.size(), stages, "layer").and_then([&](part_boundaries given) {
        return check_allowed(std::move(given), layers);
      });
    case partition_kind::balanced:
      return balanced_needs_weights();
    case partition_kind::automatic:
      break;
  }
  TROUPE_CHECK(false, "a method is one of its kinds, and auto is settled before layers are cut");
}

}  // namespace

std::size_t most_stages(std::span<const layer_weight> layers) {
  if (layers.empty()) return 0;
  return layers.size() - static_cast<std::size_t>(std::count_if(layers.begin() + 1, layers.end(), is_joined));
}

std::vector<cut_place> places_of(std::span<const layer_weight> layers) {
  std::vector<cut_place> places;
  for (const layer_weight& each : layers) {
    places.push_back({.is_allowed = !is_joined(each), .bytes = each.bytes_before});
  }
  return places;
}

partition_method settle(const partition_method& method, std::size_t most, std::size_t stages, bool can_be_timed) {
  if (method.kind != partition_kind::automatic) return method;
  const bool is_choice = stages > 1 && most > stages;
  return {.kind = can_be_timed && is_choice ? partition_kind::profile : partition_kind::parameters,
          .regex = {},
          .boundaries = {}};
}

expected<part_boundaries> partition_layers(const partition_method& method, std::span<const layer_weight> layers,
                                           std::size_t stages, const cut_terms& terms) {
  return check_parts(stages)
      .and_then([&] { return check_enough(items_of(layers, terms), stages); })
      .and_then([&] { return cut_by_method(method, layers, stages, terms); })
      .map([](part_boundaries boundaries) {
        TROUPE_CHECK(
            std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>{}) == boundaries.end(),
            "no method leaves a stage without layers");
        return boundaries;
      });
}

}  // namespace troupe
