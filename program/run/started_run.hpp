#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program/run/running_topology.hpp"
#include "runtime/graph/layer_names.hpp"
#include "runtime/os/blob.hpp"
#include "runtime/trace/trace_recorder.hpp"

namespace troupe {

/// The table of a model's weights, and their names by layer.
struct model_weights {
  graph_weights weights;
  std::vector<layer_names> layers;
};

/// Where a pipeline that is trained was cut.
struct trained_pipeline {
  std::vector<std::uint64_t> boundaries;
  /// trained_graph_of(): also of stages in workers, since this process saves and loads what they have.
  layered_graph_ptr graph;
};

/// A topology that runs and waits for calls. Replicas share weights.
struct started_run {
  /// Numbers the events of the run's trace, if one was asked for; outlives the engines.
  std::shared_ptr<trace_clock> trace;
  /// "0 Conv2d" for each layer, by stage; empty for a stage that is no part of a model.
  std::vector<std::vector<std::string>> layers;
  /// See run_result.
  std::map<std::string, std::string> cut_by;
  std::map<std::string, std::string> bits_depend_on;
  std::vector<std::string> plain_pipelines;
  std::vector<std::string> warnings;
  /// By pipeline, of models that code has built in this process.
  std::map<std::string, model_weights> built_weights;
  /// Where the run trains: by pipeline where it was cut, and the memory of each stage's weights.
  std::map<std::string, trained_pipeline> trained;
  std::map<stage_address, blob> states;
  /// Shared with the futures of calls under way.
  std::shared_ptr<running_topology> running;
};

}  // namespace troupe
