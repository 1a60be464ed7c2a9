#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <troupe/pipeline_engine.hpp>

namespace troupe::testing {

/// How a module is run.
struct module_place {
  optimize_mode optimize = optimize_mode::graph;
  std::uint32_t stages = 1;
  bool in_workers = false;
  /// The engine gets the first micro-batch before the start.
  bool has_sample = true;
  /// A whole data set is evaluated, too: its cross-entropy is that of the wanted outputs.
  bool is_measured = false;
};
/// "layer, 2 stages, in workers"
std::string to_string(const module_place& place);

/// A module in a file, and what it must give for each micro-batch.
struct module_case {
  std::string name;
  std::filesystem::path model;
  std::vector<at::Tensor> batches;
  std::vector<at::Tensor> wanted;
  /// For largest_difference().
  double tolerance = 0;
  /// `wanted` was computed by this very LibTorch, so that a plain run has its bits.
  bool is_from_here = false;
};

struct module_finding {
  module_place place;
  std::string text;
};

/// All findings: an error, a value beyond the tolerance, bits of `layer` or `none` that depend on the cut, a written
/// micro-batch. An empty list is what a test wants. In workers only where `serve_module_if_asked` was called in main().
std::vector<module_finding> findings_of(const module_case& what, const std::vector<module_place>& places);
/// In one process: `layer` and `stage` with 1 to 3 stages; with another number each turn, `none`, and one of both
/// without a sample.
std::vector<module_place> places_of_turn(std::uint64_t turn);
/// In worker processes: `layer` and `stage`, with two stages.
std::vector<module_place> worker_places();

/// In a worker, and in the process that tries a run out: becomes that and does not return. Elsewhere does nothing.
/// Needs a troupe::program.
void serve_module_if_asked();

}  // namespace troupe::testing
