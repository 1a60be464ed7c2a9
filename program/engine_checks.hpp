#pragma once

#include <optional>
#include <string>
#include <vector>

#include "program/topology/topology_parts.hpp"
#include <troupe/pipeline_engine.hpp>

namespace troupe {

/// E0104 for options that have no effect in a call whose micro-batches come from an iterator. Threads: any, as below.
[[nodiscard]] expected<void> check_batch_call(const pipeline_engine_options& options);
/// Before anything is started: E0103 for a count or time of calls that is not positive, E0102 for metrics of no such
/// name.
[[nodiscard]] expected<void> check_call_options(const pipeline_engine_options& options);
/// E0104 for options that the module sets itself.
[[nodiscard]] expected<void> check_module_options(const pipeline_engine_options& options, const module_shape& shape);
/// Names that tell worker processes the metrics of one call; nothing: those of the options, which they have. E0104.
[[nodiscard]] expected<std::optional<std::vector<std::string>>> metrics_to_tell(
    const pipeline_engine_options& options, const std::vector<metric_choice>& metrics);

}  // namespace troupe
