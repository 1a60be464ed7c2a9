#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "runtime/topology/stage_graph.hpp"
#include <troupe/topology.hpp>

namespace troupe {

struct stage_node {
  stage_recipe recipe;
  stage_options options;
};
struct route_node {
  std::vector<route_case> cases;
};
struct join_node {};
/// Stage `part` of a pipeline.
struct cut_node {
  std::string pipeline;
  std::uint32_t part = 0;
};
/// The code of a node.
using node_content = std::variant<stage_node, route_node, join_node, cut_node>;

struct cut_pipeline {
  model_source model;
  cut_options options;
};

struct scored_sink {
  std::string name;
  std::vector<metric_choice> metrics;
  sink_options options;
};

/// Name of stage `part` of a pipeline.
[[nodiscard]] std::string part_name(const std::string& pipeline, std::uint32_t part);

/// What a topology was given, as a run reads it.
struct topology_parts {
  /// As added; graph() completes the edges.
  std::vector<graph_node> nodes = {};
  std::vector<graph_edge> edges = {};
  std::optional<data_choice> data = std::nullopt;
  /// By node.
  std::map<std::string, node_content> contents = {};
  std::map<std::string, cut_pipeline> pipelines = {};
  /// In the order of addition, which is the order of the results.
  std::vector<scored_sink> sinks = {};
  std::set<std::string> in_processes = {};
  std::set<std::string> in_driver = {};
  /// By node, where one is asked for: nodes of a launch, one for all of its replicas or one for each.
  std::map<std::string, std::vector<std::string>> places = {};
  /// What check() reports first.
  std::vector<error> mistakes = {};

  void add(graph_node node);
  void add(const graph_node& node, node_content what);

  /// The graph with all edges.
  [[nodiscard]] stage_graph graph() const;
  /// The run, or the node in it, has worker processes.
  [[nodiscard]] bool has_workers(const run_options& run) const { return run.workers.enabled || !in_processes.empty(); }
  [[nodiscard]] bool has_workers(const run_options& run, const std::string& node) const {
    return !in_driver.contains(node) && (run.workers.enabled || in_processes.contains(node));
  }
  /// The node of a launch that is to have the replica; empty: any. Places are as check_places() wants them.
  [[nodiscard]] std::string place_of(const std::string& node, std::uint32_t replica) const;
  /// The source has no data set: calls of an engine bring the data.
  [[nodiscard]] bool is_open() const;
  /// E0504 where a node has neither one place nor as many as replicas.
  [[nodiscard]] expected<void> check_places() const;
  /// E0504 where replicas would share an object.
  [[nodiscard]] expected<void> check_objects() const;
};

}  // namespace troupe
