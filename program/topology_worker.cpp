#include "program/topology_worker.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "actors/workers/worker_face.hpp"
#include "program/model_worker.hpp"
#include "program/topology_start.hpp"
#include "runtime/engine/allocator.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/model/first_use.hpp"
#include "runtime/tensor/tensor_codec.hpp"
#include "runtime/topology/plan_fingerprint.hpp"

namespace troupe {

expected<std::vector<sink_request>> make_sinks(const topology& what, std::uint32_t classes) {
  std::vector<sink_request> made;
  for (const topology::scored& each : what.sinks()) {
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

std::string settings_of(const topology& what) {
  std::string text;
  for (const auto& [name, asked] : what.pipelines()) {
    const auto* file = std::get_if<std::string>(&asked.model);
    text += fmt::format("{}: {}, {} stages, {} {}\n", name, file == nullptr ? "in memory" : stamp_of(*file),
                        asked.options.stages, static_cast<int>(asked.options.optimize), asked.options.partition);
  }
  for (const topology::scored& each : what.sinks()) {
    text += fmt::format("{}: {} metrics of {} {}\n", each.name, each.metrics.size(), each.options.tensor,
                        each.options.label);
  }
  return text;
}

void serve_topology(const worker_environment& environment, const topology& what, const run_options& options) {
  if (auto fine = what.check(); !fine) end_worker(fine.error());
  const auto plan = expand(what.graph());
  if (!plan) end_worker(plan.error());
  keep_freed_memory();
  spare_models spare;
  worker_description description{
      .plan = *plan,
      .fingerprint = [&] { return plan_fingerprint(*plan, settings_of(what)); },
      .codec = std::make_shared<tensor_codec>(),
      .tcp_edges = options.transport == transport_kind::tcp,
      .silence_timeout =
          std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(options.worker_timeout)),
      .prepare =
          [&] {
            yield_to_stages();
            prepare_pipelines(what, spare);
            if (spare.is_spare()) use_libtorch_once();
          },
      .make_body =
          [&](const worker_assignment& to, const payload_ptr& warm_up) {
            return in_making_thread("topology", [&] { return make_assigned_body(what, *plan, to, warm_up, spare); });
          },
      .make_scorer = [&](std::uint32_t sink, std::uint32_t classes) -> expected<std::shared_ptr<scorer>> {
        auto sinks = make_sinks(what, classes);
        if (!sinks) return tl::make_unexpected(sinks.error());
        sink_request& one = sinks->at(sink);
        return std::make_shared<metric_scorer>(std::move(one.metrics), false, one.tensor, one.label);
      }};
  serve_worker(environment, std::move(description));
}

}  // namespace troupe
