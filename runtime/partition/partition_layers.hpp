#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/partition/cut_place.hpp"
#include "runtime/partition/partition_method.hpp"
#include "runtime/partition/weights.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// What the methods know of one layer.
struct layer_weight {
  /// As `troupe inspect` prints it: "Conv2d".
  std::string type_name;
  /// Trainable ones.
  std::uint64_t parameters = 0;
  /// Forward time of one real micro-batch; needed by `profile` only.
  double seconds = 0;
  /// Would cross a cut before the layer with such a micro-batch; 0 where it is not known.
  std::uint64_t bytes_before = 0;
  /// Why the layer cannot be separated from the one before it; empty where it can.
  std::string joined_because = {};
};

/// What the caller knows of the run.
struct cut_terms {
  /// See cut_cost.
  double cut_cost_seconds_per_byte = 0;
  /// Why there are no more layers than there are, for E0106: "its forward is one operator that cannot be divided".
  std::string few_because = {};
};

/// How many stages these layers can be cut into at the most.
std::size_t most_stages(std::span<const layer_weight> layers);
/// Before each layer.
std::vector<cut_place> places_of(std::span<const layer_weight> layers);

/// Must the layers be timed before partition_layers is called?
inline bool needs_profile(const partition_method& method) {
  return method.kind == partition_kind::profile;
}

/// What "auto" means for a model that can be cut into `most` stages: profile where the layers can be timed and more
/// than one cut is possible, else parameters. Every other method stays as it is.
partition_method settle(const partition_method& method, std::size_t most, std::size_t stages, bool can_be_timed);

/// Whether the cut may follow from measured times, so that it can differ from run to run.
inline bool may_be_measured(const partition_method& method) {
  return method.kind == partition_kind::automatic || needs_profile(method);
}

/// Cuts the layers of a model into `stages` stages, none of them empty. Stage i runs the layers [b[i], b[i+1]).
///
/// uniform: partition_uniform. parameters: partition_balanced over the parameters, which leaves no part empty while
/// there are at least as many layers as stages (layers without parameters count as layers). type_regex:
/// partition_balanced over 1 and 0; fewer matching layers than stages are refused, as some stage would hold none.
/// These boundaries are then moved_to_allowed(). profile: minimise_slowest over seconds and bytes. boundaries: as
/// given. balanced is refused: for layers it is called `parameters`. automatic has been settled before.
///
/// Errors: E0103 stages, regex; E0104 boundaries for another number of stages, balanced; E0106 more stages than the
/// layers can be cut into; E0511 no or too few layers match; E0512 boundaries that do not end with the number of
/// layers, or separate what cannot be separated; E0513 a negative or infinite time.
expected<part_boundaries> partition_layers(const partition_method& method, std::span<const layer_weight> layers,
                                           std::size_t stages, const cut_terms& terms = {});

}  // namespace troupe
