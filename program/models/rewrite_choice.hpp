#pragma once

#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "program/models/layered_model.hpp"
#include "runtime/partition/partition_layers.hpp"
#include <troupe/error.hpp>
#include <troupe/options.hpp>

namespace troupe {

/// Whether a model runs as it stands although its options ask for a rewritten one. The process that tries a run out
/// decides; all processes of the run, and all runs that go on with its journal, follow.
struct rewrite_choice {
  /// Its outputs differ when it is rewritten, or its results are not repeatable.
  bool runs_plain = false;
  /// Why, for the log.
  std::vector<std::string> notes = {};
  /// Layers whose results are not repeatable, ascending, and why, where that was allowed.
  std::vector<std::size_t> random = {};
  std::vector<std::string> warnings = {};
};

struct rewrite_choice_request {
  optimize_mode optimize = optimize_mode::graph;
  bool is_for_device = false;
  /// Takes a model whose results are not repeatable.
  bool allow_random = false;
  /// The choice of the run that goes on; nothing: it is made here.
  std::optional<bool> journaled = std::nullopt;
};

/// Looks at the code of all layers: E0216 for one that draws random numbers, unless that is allowed. Runs nothing.
[[nodiscard]] expected<rewrite_choice> judge_code(const layered_model& model, const rewrite_choice_request& asked);

/// Rewrites the model, if that is asked for, and tries it on a few rows of `sample`, inputs that the model accepts, or
/// none; beyond what judge_code() found. Without a sample nothing is tried. A model with layers whose results are not
/// repeatable runs as it stands. E0216 for a layer whose bits differ between two runs, unless that is allowed; E0607.
[[nodiscard]] expected<void> try_model(layered_model& model, const rewrite_choice_request& asked,
                                       const graph_values& sample, const std::stop_token& stop, rewrite_choice& into);

}  // namespace troupe
