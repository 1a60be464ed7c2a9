#include "program/start/advised.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "program/start/sinks.hpp"
#include "runtime/metric/metric_settings.hpp"

namespace troupe {
namespace {

bool asks_for_one_of(const std::vector<std::string>& metrics, const checked_run& run) {
  const auto is_one = [&](const metric_choice& choice) {
    const auto* name = std::get_if<std::string>(&choice);
    return name == nullptr || std::ranges::find(metrics, base_name(*name)) != metrics.end();
  };
  return std::ranges::any_of(run.parts().sinks,
                             [&](const scored_sink& sink) { return std::ranges::any_of(sink.metrics, is_one); });
}

bool chooses_label(const checked_run& run) {
  return std::ranges::any_of(run.parts().sinks, [](const scored_sink& sink) { return !sink.options.label.empty(); });
}

}  // namespace

error advised(error found, const checked_run& run, const data_set& data) {
  const metric_advice advice = data.advice();
  using reason = metric_advice::reason;
  if (advice.fix.empty() || (advice.why == reason::several_labels && chooses_label(run))) return found;
  // a metric that counts per class can be made for two classes, if nothing else is wrong with it
  const bool lacks_classes =
      found.code == error_code::value_out_of_range && data.classes() == 0 && make_sinks(run, 2).has_value();
  if ((found.code == error_code::metric_does_not_fit || lacks_classes) && !asks_for_one_of(advice.metrics, run)) {
    found.fix = advice.fix;
  } else if (found.code == error_code::model_rejects_sample && advice.why == reason::no_labels) {
    found.fix = advice.fix + "; else " + found.fix;
  }
  return found;
}

}  // namespace troupe
