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

/// Whether a model runs as it stands although its options ask for a rewritten one. Made once, by the process
/// that tries a run out, and data from there on: every process of the run, and every run that goes on with its journal,
/// has the same.
struct layer_choice {
  /// By number, ascending: none of them, or all of a model whose outputs differ when it is rewritten.
  std::vector<std::size_t> plain = {};
  /// Why, for the log.
  std::vector<std::string> notes = {};
  /// Layers whose results are not repeatable, ascending, and why, where that was allowed. There is nothing to compare.
  std::vector<std::size_t> random = {};
  std::vector<std::string> warnings = {};
};

struct layer_choice_request {
  optimize_mode optimize = optimize_mode::graph;
  bool is_for_device = false;
  /// Takes a model whose results are not repeatable.
  bool allow_random = false;
  /// The choice of the run that goes on; nothing: it is made here.
  std::optional<std::vector<std::size_t>> journaled = std::nullopt;
};

/// Looks at the code of all layers: E0216 for one that draws random numbers, unless that is allowed. Runs nothing.
[[nodiscard]] expected<layer_choice> judge_code(const layered_model& model, const layer_choice_request& asked);

/// Rewrites the model, if that is asked for, and tries it on a few rows of `sample`, inputs that the model accepts, or
/// none; beyond what judge_code() found. Without a sample nothing is tried. A model with layers whose results are not
/// repeatable runs as it stands. E0216 for a layer whose bits differ between two runs, unless that is allowed; E0607.
[[nodiscard]] expected<void> try_model(layered_model& model, const layer_choice_request& asked,
                                       const graph_values& sample, const std::stop_token& stop, layer_choice& into);

/// "none", "all" or "0,4", for a model of so many layers, and back; nothing for a text of something else.
[[nodiscard]] std::string plain_text(const std::vector<std::size_t>& plain, std::size_t layers);
[[nodiscard]] std::optional<std::vector<std::size_t>> parse_plain(const std::string& text, std::size_t layers);

}  // namespace troupe
