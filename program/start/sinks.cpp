#include "program/start/sinks.hpp"

#include <utility>
#include <variant>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/predictions/prediction_rows.hpp"

namespace troupe {

namespace {

expected<void> check_intervals(const interval_options& asked) {
  if (asked.confidence == 0) return {};
  const auto refuse = [](const char* option, const char* expected, const char* fix) {
    return fail(error_code::value_out_of_range, option, expected, fix);
  };
  if (!(asked.confidence >= limits::confidence_min && asked.confidence <= limits::confidence_max)) {
    return refuse("confidence", "expected a level from 0.001 to 0.999999", "ask for 0.95");
  }
  if (asked.resamples < limits::resamples_min || asked.resamples > limits::resamples_max) {
    return refuse("bootstrap_resamples", "expected from 10 to 100000 resamples", "ask for 1000");
  }
  if (asked.seed > limits::seed_max) return refuse("bootstrap_seed", "expected a seed of at most 2^53", "use 0");
  return {};
}

expected<metric_ptr> without_interval(const metric_ptr& object, const interval_options& intervals) {
  if (intervals.confidence == 0) return object;
  return fail(error_code::value_out_of_range, "metric " + object->name(),
              "it is an object of the program, and has no confidence interval",
              "give intervals to metrics by name, such as accuracy:confidence=0.95");
}

}  // namespace

expected<std::vector<metric_ptr>> make_metrics(const std::vector<metric_choice>& choices, std::uint32_t classes,
                                               const interval_options& intervals) {
  TROUPE_TRY(check_intervals(intervals));
  std::vector<metric_ptr> made;
  for (const metric_choice& choice : choices) {
    const auto* object = std::get_if<metric_ptr>(&choice);
    auto one = TROUPE_TRY(object != nullptr ? without_interval(*object, intervals)
                                            : make_metric(std::get<std::string>(choice), classes, intervals));
    made.push_back(std::move(one));
  }
  return made;
}

expected<metric_ptr> make_predictions(const prediction_options& asked) {
  if (asked.file.empty()) return metric_ptr();
  return prediction_format_of(asked.file).map([&](prediction_format format) {
    return format == prediction_format::json ? metric_ptr() : make_prediction_rows(format, asked.with);
  });
}

expected<std::vector<sink_request>> make_sinks(const checked_run& run, const data_set& data) {
  auto made = TROUPE_TRY(make_sinks(run, data.classes()));
  const auto& sinks = run.parts().sinks;
  for (std::size_t sink = 0; sink < made.size(); ++sink) {
    for (std::size_t i = 0; i < made[sink].metrics.size(); ++i) {
      const auto* name = std::get_if<std::string>(&sinks[sink].metrics[i]);
      if (auto own = name == nullptr ? metric_ptr() : data.own_metric(*name)) made[sink].metrics[i] = std::move(own);
    }
  }
  return made;
}

expected<std::vector<sink_request>> make_sinks(const checked_run& run, std::uint32_t classes) {
  const std::vector<bool> parts = nodes_with_parts(run.plan);
  std::vector<sink_request> made;
  for (const scored_sink& each : run.parts().sinks) {
    auto metrics = TROUPE_TRY(make_metrics(each.metrics, classes, each.options.intervals));
    auto predictions = TROUPE_TRY(make_predictions(each.options.predictions));
    made.push_back({.name = each.name,
                    .metrics = std::move(metrics),
                    .predictions = std::move(predictions),
                    .prediction_file = each.options.predictions,
                    .names = {each.options.tensor, each.options.label},
                    .has_parts = parts[run.plan.sinks[made.size()].stage]});
  }
  return made;
}

expected<void> judge_sinks(const checked_run& run, const std::vector<std::vector<activation>>& outputs,
                           std::uint32_t classes) {
  auto sinks = TROUPE_TRY(make_sinks(run, classes));
  for (std::size_t index = 0; index < sinks.size(); ++index) {
    const sink_request& sink = sinks[index];
    const wired_sink& place = run.plan.sinks[index];
    const activation& part = outputs[place.stage][place.output_port];
    if (part.tensors == nullptr) continue;
    auto fits = metric_scorer(sink.kept(), sink.names).judge(part.tensors, part);
    if (fits) continue;
    error misfit = std::move(fits.error());
    if (sinks.size() > 1) misfit.where = "sink " + sink.name + ", " + misfit.where;
    return tl::make_unexpected(std::move(misfit));
  }
  return {};
}

}  // namespace troupe
