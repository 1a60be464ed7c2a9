#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

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
};

/// Must the layers be timed before partition_layers is called?
inline bool needs_profile(const partition_method& method) {
  return method.kind == partition_kind::profile;
}

/// What "auto" means for a chain of so many layers: profile where the layers can be timed and more than one cut is
/// possible, else parameters. Every other method stays as it is.
partition_method settle(const partition_method& method, std::size_t layers, std::size_t stages, bool can_be_timed);

/// Whether the cut may follow from measured times, so that it can differ from run to run.
inline bool may_be_measured(const partition_method& method) {
  return method.kind == partition_kind::automatic || needs_profile(method);
}

/// Cuts a model's chain into `stages` stages, none of them empty. Stage i runs the layers [b[i], b[i+1]).
///
/// uniform: partition_uniform. parameters: partition_balanced over the parameters, which leaves no part empty while
/// there are at least as many layers as stages (layers without parameters count as layers). type_regex:
/// partition_balanced over 1 and 0; fewer matching layers than stages are refused, as some stage would hold none.
/// profile: minimise_slowest over seconds. boundaries: as given. balanced is refused: for layers it is called
/// `parameters`. automatic has been settled before.
///
/// Errors: E0103 stages, regex; E0104 boundaries for another number of stages, balanced; E0106 more stages than layers;
/// E0511 no or too few layers match; E0512 boundaries that do not end with the number of layers; E0513 a negative or
/// infinite time.
expected<part_boundaries> partition_layers(const partition_method& method, std::span<const layer_weight> layers,
                                           std::size_t stages);

}  // namespace troupe
