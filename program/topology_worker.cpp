#include "program/topology_worker.hpp"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "actors/workers/worker_actor.hpp"
#include "program/own_thread.hpp"
#include "program/topology_start.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/model/first_use.hpp"
#include "runtime/os/allocator.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/topology/plan_fingerprint.hpp"

namespace troupe {
namespace {

/// A file's name, size and time of change; the name alone if it cannot be seen.
std::string stamp_of(const std::string& file) {
  std::error_code ignored;
  const auto size = std::filesystem::file_size(file, ignored);
  const auto time = std::filesystem::last_write_time(file, ignored).time_since_epoch().count();
  return fmt::format("{} {} {}", file, size, time);
}

/// Shared by the callables of one worker.
struct worker_state {
  worker_state(topology given, wiring_plan expanded) : what(std::move(given)), plan(std::move(expanded)) {}
  topology what;
  wiring_plan plan;
  spare_models spare;
};

expected<std::shared_ptr<scorer>> make_scorer(const topology& what, std::uint32_t sink, std::uint32_t classes) {
  auto sinks = make_sinks(what, classes);
  if (!sinks) return tl::make_unexpected(sinks.error());
  sink_request& one = sinks->at(sink);
  return std::make_shared<metric_scorer>(std::move(one.metrics), false, one.tensor, one.label);
}

}  // namespace

expected<std::vector<sink_request>> make_sinks(const topology& what, std::uint32_t classes) {
  std::vector<sink_request> made;
  for (const scored_sink& each : what.parts().sinks) {
    sink_request sink{.name = each.name, .metrics = {}, .tensor = each.options.tensor, .label = each.options.label};
    for (const metric_choice& choice : each.metrics) {
      auto one = std::holds_alternative<metric_ptr>(choice) ? expected<metric_ptr>{std::get<metric_ptr>(choice)}
                                                            : make_metric(std::get<std::string>(choice), classes);
      if (!one) return tl::make_unexpected(one.error());
      sink.metrics.push_back(std::move(*one));
    }
    made.push_back(std::move(sink));
  }
  return made;
}

expected<void> judge_sinks(const topology& what, const wiring_plan& plan,
                           const std::vector<std::vector<activation>>& outputs, std::uint32_t classes) {
  auto sinks = make_sinks(what, classes);
  if (!sinks) return tl::make_unexpected(sinks.error());
  for (std::size_t index = 0; index < sinks->size(); ++index) {
    const sink_request& sink = (*sinks)[index];
    const wired_sink& place = plan.sinks[index];
    const activation& part = outputs[place.stage][place.output_port];
    if (part.tensors == nullptr) continue;
    auto fits = metric_scorer(sink.metrics, false, sink.tensor, sink.label).judge(part.tensors, part);
    if (fits) continue;
    error misfit = std::move(fits.error());
    if (sinks->size() > 1) misfit.where = "sink " + sink.name + ", " + misfit.where;
    return tl::make_unexpected(std::move(misfit));
  }
  return {};
}

bool is_open(const topology& what) {
  const auto* data = what.parts().data ? std::get_if<data_set_ptr>(&*what.parts().data) : nullptr;
  return data != nullptr && *data == nullptr;
}

std::string settings_of(const topology& what) {
  std::string text;
  for (const auto& [name, asked] : what.parts().pipelines) {
    const auto* file = std::get_if<std::string>(&asked.model);
    text += fmt::format("{}: {}, {} stages, {} {} {}\n", name, file == nullptr ? "in memory" : stamp_of(*file),
                        asked.options.stages, static_cast<int>(asked.options.optimize), asked.options.partition,
                        asked.options.dtype ? c10::toString(*asked.options.dtype) : "as it is");
  }
  for (const scored_sink& each : what.parts().sinks) {
    text += fmt::format("{}: of {} {}", each.name, each.options.tensor, each.options.label);
    for (const metric_choice& metric : each.metrics) text += ", " + name_of(metric);
    text += "\n";
  }
  return text;
}

expected<worker_description> describe_worker(const topology& what, const run_options& options) {
  if (auto fine = what.check(); !fine) return tl::make_unexpected(fine.error());
  auto plan = expand(what.parts().graph());
  if (!plan) return tl::make_unexpected(plan.error());
  keep_freed_memory();
  const auto state = std::make_shared<worker_state>(what, std::move(*plan));
  return worker_description{
      .plan = state->plan,
      .fingerprint = [state] { return plan_fingerprint(state->plan, settings_of(state->what)); },
      .codec = std::make_shared<tensor_codec>(),
      .tcp_edges = options.workers.transport == transport_kind::tcp,
      .payload_crc = options.workers.payload_crc,
      .silence_timeout = options.workers.timeout,
      .prepare =
          [state] {
            yield_to_stages();
            prepare_pipelines(state->what, state->spare);
            if (state->spare.is_spare()) use_libtorch_once();
          },
      .make_body =
          [state](const worker_assignment& to, const payload_ptr& warm_up) {
            return in_own_thread("topology", "the stage could not be made", [&] {
              return make_assigned_body(state->what, state->plan, to, warm_up, state->spare);
            });
          },
      .make_scorer = [state](std::uint32_t sink,
                             std::uint32_t classes) { return make_scorer(state->what, sink, classes); }};
}

void serve_topology(const worker_environment& environment, const topology& what, const run_options& options) {
  auto description = describe_worker(what, options);
  if (!description) end_worker(description.error());
  serve_worker(environment, std::move(*description));
}

}  // namespace troupe
