#include "runtime/metric/ranking.hpp"

#include <algorithm>
#include <cmath>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/metric/sample_metric.hpp"

namespace troupe {

namespace {

score_rules rules_of_ranking(const metric_request& asked) {
  const bool labels_alone = base_name(asked.name) == "mean_average_precision";
  return {.takes_binary = !labels_alone, .takes_classes = !labels_alone, .known_classes = asked.classes};
}

expected<metric_ptr> make_ranking(const metric_request& asked, curve_value value) {
  const metric_settings& settings = asked.settings;
  if (!settings.has("bins")) {
    if (!settings.has("labels")) return make_exact_ranking({asked, value});
    return fail(error_code::flags_contradict, "metric " + asked.name + ", option labels",
                "it says how many bins are kept, and none are asked for", "add bins=100, or leave labels out");
  }
  if (settings.has("confidence")) {
    return fail(error_code::flags_contradict, "metric " + asked.name + ", option confidence",
                "an interval needs the scores of all samples, and bins keep none", "leave bins or the interval out");
  }
  const auto columns = static_cast<std::size_t>(settings.whole("labels").value_or(std::max(asked.classes, 1U)));
  const std::uint64_t words = columns * (2 * static_cast<std::uint64_t>(*settings.whole("bins")) + 1) + 2;
  if (words <= limits::score_words_max / 2) return make_binned_ranking({asked, value}, columns);
  return fail(error_code::value_out_of_range, "metric " + asked.name + ", option bins",
              "so many bins for " + std::to_string(columns) + " classes need " + std::to_string(words) +
                  " numbers, at most " + std::to_string(limits::score_words_max / 2) + " are kept",
              "ask for fewer bins");
}

}  // namespace

void ranked_columns::read(score_kind kind, const scored_sample& sample, std::vector<double>& scores,
                          std::vector<std::uint8_t>& flags) const {
  const bool are_two = kind == score_kind::classes && sample.scores.size() == 2;
  if (are_two) {
    const double second = source.are_probabilities ? sample.scores[1] : sample.scores[1] - sample.scores[0];
    scores = {second};
    flags = {sample.flags[1]};
  } else {
    scores.assign(sample.scores.begin(), sample.scores.end());
    flags.assign(sample.flags.begin(), sample.flags.end());
  }
  const bool need_probabilities = !is_exact || (kind == score_kind::classes && !are_two);
  if (need_probabilities && !source.are_probabilities) {
    make_probabilities(are_two ? score_kind::binary : kind, scores);
  }
  if (columns_max > 0 && scores.size() > columns_max) {
    scores.resize(columns_max);
    flags.resize(columns_max);
  }
}

ranking::ranking(const metric_request& asked, curve_value value)
    : name(asked.name),
      average(asked.settings.word("average", "macro")),
      chosen(value),
      rules(rules_of_ranking(asked)),
      columns{.is_exact = !asked.settings.has("bins"),
              .bins = static_cast<std::size_t>(asked.settings.whole("bins").value_or(0)),
              .source = score_source::of(asked.settings),
              .columns_max = asked.classes > 2 ? asked.classes : 0} {}

expected<void> ranking::judge(const scored_part& part) const {
  scored_rows batch = TROUPE_TRY(scored_rows::open(name, part, rules));
  const bool ranks_outputs = columns.is_exact && (batch.kind() != score_kind::classes || batch.columns() == 2);
  if (ranks_outputs && !columns.source.are_probabilities) return {};
  return judge_source(name, std::move(batch), columns.source);
}

double ranking::value(const std::vector<ranking_curve::values>& each, double all) const {
  const double none = std::nan("");
  if (average == "micro") return all;
  if (average == "binary") return each.empty() ? none : each[each.size() > 1 ? 1 : 0].*chosen;
  double sum = 0;
  double weight = 0;
  for (const ranking_curve::values& one : each) {
    if (one.positives == 0 || (one.negatives == 0 && chosen == &ranking_curve::values::auroc)) continue;
    const double share_of_one = average == "weighted" ? one.positives : 1;
    sum += share_of_one * (one.*chosen);
    weight += share_of_one;
  }
  return weight > 0 ? sum / weight : none;
}

metric_value ranking::fields(const std::vector<ranking_curve::values>& each, double all, std::uint64_t samples) const {
  metric_value made{name, {}, metric_form::per_class};
  std::vector<double> values;
  std::vector<std::uint64_t> positives;
  for (const ranking_curve::values& one : each) {
    values.push_back(one.*chosen);
    positives.push_back(as_count(one.positives));
  }
  if (average != "none") made.fields.push_back(real_field("value", value(each, all)));
  made.fields.push_back(real_list("per_class", std::move(values)));
  made.fields.push_back(count_list("positives", positives));
  made.fields.push_back(count_field("count", samples));
  if (!columns.is_exact) made.fields.push_back(count_field("bins", columns.bins));
  return made;
}

expected<metric_ptr> make_auroc(const metric_request& asked) {
  return make_ranking(asked, &ranking_curve::values::auroc);
}
expected<metric_ptr> make_average_precision(const metric_request& asked) {
  return make_ranking(asked, &ranking_curve::values::average_precision);
}

}  // namespace troupe
