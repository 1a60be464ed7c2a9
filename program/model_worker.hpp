#pragma once

#include <string>
#include <vector>

#include "actors/workers/serve_worker.hpp"
#include "runtime/config/eval_options.hpp"
#include "runtime/metric/metric.hpp"

namespace troupe {

/// What a worker of `troupe eval` is: any stage of the model that these options speak of. It reads the model's file
/// when it is assigned a stage, or while it waits for that. Errors: those of plan_of_chain().
[[nodiscard]] expected<worker_description> describe_worker(const eval_options& options);

/// What driver and workers must agree on, as text: the model's file with its size and time, and what is done with it.
[[nodiscard]] std::string settings_of(const eval_options& options);
/// A file's name, size and time of change; the name alone if it cannot be seen.
[[nodiscard]] std::string stamp_of(const std::string& file);

/// Metrics by name. Errors: make_metric().
[[nodiscard]] expected<std::vector<metric_ptr>> make_metrics(const std::vector<std::string>& names,
                                                             std::uint32_t classes);

/// Runs `make` on a thread that ends with it (in_starting_thread() says why); an exception becomes E0601.
[[nodiscard]] expected<std::shared_ptr<stage_body>> in_making_thread(
    const std::string& what, const std::function<expected<std::shared_ptr<stage_body>>()>& make);

}  // namespace troupe
