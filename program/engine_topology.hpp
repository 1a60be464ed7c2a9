#pragma once

#include <string>

#include <troupe/pipeline_engine.hpp>
#include <troupe/topology.hpp>

namespace troupe {

/// What an engine runs: source "loader", which is open, pipeline "stage", sink "metrics" and those of the options. Of a
/// module's options `stages`, `replicas` and `partition` are those of the module.
[[nodiscard]] topology topology_of(model_source model, const pipeline_engine_options& options);

/// The options in force, for results; `model` stands for the file.
[[nodiscard]] eval_options config_for(const topology& what, const pipeline_engine_options& options, std::string model);

}  // namespace troupe
