#include "program/engine_checks.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe {
namespace {

/// Names are checked before the number of classes is known.
constexpr std::uint32_t classes_assumed = 10;

std::vector<std::string> names_of(const std::vector<metric_choice>& metrics) {
  std::vector<std::string> names;
  names.reserve(metrics.size());
  for (const metric_choice& each : metrics) names.push_back(name_of(each));
  return names;
}

expected<void> check_names(const std::vector<metric_choice>& metrics) {
  for (const metric_choice& each : metrics) {
    const auto* name = std::get_if<std::string>(&each);
    if (name == nullptr) continue;
    TROUPE_TRY(make_metric(*name, classes_assumed));
  }
  return {};
}

tl::unexpected<error> no_use(const char* option, const char* cause, const char* fix) {
  return fail(error_code::flags_contradict, option, cause, fix);
}

}  // namespace

expected<void> check_batch_call(const pipeline_engine_options& options) {
  if (!options.run.journal.file.empty()) {
    return no_use("journal", "an iterator ends with its program, and nothing could go on with the journal",
                  "use evaluate(), or leave the journal out");
  }
  if (options.run.limit) {
    return no_use("limit", "it counts the samples of a data set, and an iterator gives micro-batches",
                  "use num_micro_batches");
  }
  return {};
}

expected<void> check_call_options(const pipeline_engine_options& options) {
  if (options.num_micro_batches == 0) {
    return fail(error_code::value_out_of_range, "num_micro_batches", "it is 0", "ask for at least 1");
  }
  if (options.call_timeout <= std::chrono::nanoseconds{0}) {
    return fail(error_code::value_out_of_range, "call_timeout", "it is not positive", "give calls some time");
  }
  // Points in time are this much later than now, and have 64 bits for nanoseconds.
  if (options.call_timeout > std::chrono::duration<double>(limits::deadline_seconds_max)) {
    return fail(error_code::value_out_of_range, "call_timeout", "it is more than 366 days", "give calls less time");
  }
  auto fine = check_names(options.metrics);
  for (const eval_sink& each : options.sinks) {
    if (fine) fine = check_names(each.metrics);
  }
  return fine;
}

expected<std::optional<std::vector<std::string>>> metrics_to_tell(const pipeline_engine_options& options,
                                                                  const std::vector<metric_choice>& metrics) {
  if (!options.run.workers.enabled || metrics == options.metrics) return std::nullopt;
  std::vector<std::string> names = names_of(metrics);
  const bool can_travel =
      names.size() <= limits::wire_array_items_max &&
      std::ranges::all_of(metrics, [](const metric_choice& each) { return std::holds_alternative<std::string>(each); });
  if (can_travel) return names;
  return no_use("metrics", "worker processes have no metric objects but those of the engine's options",
                "give them in the options, or use metrics by name");
}

expected<void> check_module_options(const pipeline_engine_options& options, const module_shape& shape) {
  if (options.stages.value_or(shape.stages) != shape.stages) {
    return no_use("stages", "the module says how many there are", "set pipeline_module::num_stages");
  }
  if (options.replicas.value_or(shape.replicas) != shape.replicas) {
    return no_use("replicas", "the module's topology says how many there are", "set its axis \"data\"");
  }
  if (options.partition) {
    return no_use("partition", "the module says how it is cut", "set pipeline_module::partition_method");
  }
  return {};
}

}  // namespace troupe
