#include "program/compare/compare.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "messages/try.hpp"
#include "program/compare/sample_states.hpp"
#include "program/topology/eval_topology.hpp"
#include "runtime/metric/metric_lookup.hpp"
#include "runtime/report/single_value.hpp"

namespace troupe {
namespace {

std::string name_of_model(std::size_t index) {
  return fmt::format("model{}", index + 1);
}

eval_options options_of(const compare_request& asked, const std::string& model) {
  eval_options made = asked.options;
  const bool is_weights = !made.arch.empty() || !made.model.empty();
  (is_weights ? made.weights : made.model) = model;
  return made;
}

/// The states of a metric, by model.
using states_by_model = std::vector<sample_states>;

/// The value of each model in each resample.
std::vector<std::vector<double>> values_in_resamples(const states_by_model& states, const compare_request& asked) {
  std::vector<std::vector<double>> values(states.size());
  pair_resampler draw(asked.seed, states.front().size());
  for (std::uint64_t i = 0; i < asked.resamples; ++i) {
    const auto samples = draw.next();
    for (std::size_t model = 0; model < states.size(); ++model)
      values[model].push_back(states[model].value_of(samples));
  }
  return values;
}

metric_difference::mcnemar mcnemar_of(const sample_states& first, const sample_states& other) {
  metric_difference::mcnemar made;
  for (std::uint64_t sample = 0; sample < first.size(); ++sample) {
    const std::array one{sample};
    const bool first_right = first.value_of(one) == 1;
    const bool other_right = other.value_of(one) == 1;
    made.only_first += first_right && !other_right ? 1U : 0U;
    made.only_this += other_right && !first_right ? 1U : 0U;
  }
  made.p = mcnemar_p(made.only_first, made.only_this);
  return made;
}

}  // namespace

expected<model_comparison> model_comparison::create(compare_request asked) {
  const auto data = TROUPE_TRY(open_data(asked.options.data));
  std::vector<metric_entry> metrics;
  std::size_t words = 0;
  for (const std::string& name : asked.options.metrics) {
    auto made = TROUPE_TRY(make_metric(name, data->classes()));
    const std::size_t more = sample_state_words(*made) * asked.options.run.micro_batch;
    const bool is_kept = sample_state_words(*made) <= sample_words_max && words + more <= batch_words_max;
    if (is_kept) words += more;
    metrics.push_back({std::move(made), is_kept});
  }
  topology what;
  what.source("loader", data);
  for (std::size_t i = 0; i < asked.models.size(); ++i) {
    const eval_options own = options_of(asked, asked.models[i]);
    const std::string name = name_of_model(i);
    std::vector<metric_choice> choices(own.metrics.begin(), own.metrics.end());
    for (const metric_entry& each : metrics) {
      if (each.is_kept) choices.emplace_back(make_sample_states(each.metric));
    }
    what.pipeline(name, model_of(own), cut_options_of(own))
        .sink(name + "_metrics", std::move(choices), {.tensor = own.score_output, .label = own.score_label})
        .edge("loader", name)
        .edge(name, name + "_metrics");
  }
  return model_comparison(std::move(asked), std::move(metrics), std::move(what));
}

comparison model_comparison::judge(run_result result) const {
  comparison made;
  made.differences.resize(result.partial ? 0 : result.sinks.size() - 1);
  for (std::size_t index = 0; index < metrics_.size() && !result.partial; ++index) {
    const metric_entry& entry = metrics_[index];
    const std::string& name = asked_.options.metrics[index];
    states_by_model states;
    for (const sink_report& sink : result.sinks) {
      if (!entry.is_kept) break;
      states.emplace_back(entry.metric, sink[entry.metric->name() + " of each sample"].counts("words"));
    }
    const metric_value& first = result.sinks.front().metrics[index];
    const bool is_number = has_single_value(first);
    const bool has_states = is_number && entry.is_kept && states.front().size() > 0 &&
                            std::ranges::all_of(states, &sample_states::is_complete);
    const auto values = has_states ? values_in_resamples(states, asked_) : std::vector<std::vector<double>>();
    for (std::size_t model = 1; model < result.sinks.size(); ++model) {
      metric_difference one{.metric = name};
      const metric_value& other = result.sinks[model].metrics[index];
      one.difference = is_number ? other.value() - first.value() : std::nan("");
      if (has_states) {
        std::vector<double> differences;
        for (std::size_t i = 0; i < values[0].size(); ++i) differences.push_back(values[model][i] - values[0][i]);
        one.interval = interval_of(std::move(differences), asked_.confidence);
        if (first.form == metric_form::share) one.test = mcnemar_of(states[0], states[model]);
      }
      made.differences[model - 1].push_back(std::move(one));
    }
  }
  for (sink_report& sink : result.sinks) sink.metrics.resize(metrics_.size());
  result.metrics = result.sinks.front().metrics;
  made.result = std::move(result);
  return made;
}

}  // namespace troupe
