#include "runtime/metric/metric_table.hpp"

#include <charconv>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/metric/sample_metric.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

bool takes_k(const metric_kind& kind) {
  return kind.name.ends_with('K');
}

std::string_view stem(const metric_kind& kind) {
  return kind.name.substr(0, kind.name.size() - 1);
}

bool is_named(const metric_kind& kind, std::string_view name) {
  if (!takes_k(kind)) return name == kind.name;
  const std::string_view before = stem(kind);
  return name.size() > before.size() && name.starts_with(before) &&
         name.find_first_not_of("0123456789", before.size()) == std::string_view::npos;
}

expected<std::int64_t> parse_k(const metric_kind& kind, const std::string& name) {
  const std::string_view digits = std::string_view(name).substr(stem(kind).size());
  std::int64_t k = 0;
  const auto [stop, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), k);
  if (failure == std::errc{} && k >= 1 && k <= limits::metric_classes_max && digits.front() != '0') return k;
  return fail(error_code::value_out_of_range, "metric " + name,
              "expected a K from 1 to " + std::to_string(limits::metric_classes_max) + " without leading zeros",
              "write " + std::string(stem(kind)) + "5, or another K");
}

/// `asked`: the name with its options.
tl::unexpected<error> unknown_metric(const std::string& name, const std::string& asked) {
  const std::vector<std::string> names = metric_names();
  if (const std::size_t bracket = name.find('('); bracket != std::string::npos) {
    return fail(error_code::unknown_name, "metric " + name, "options of a metric stand behind colons, not in brackets",
                "write " + name.substr(0, bracket) + ":OPTION=VALUE");
  }
  std::string fix = suggest_fix(name, names);
  const auto near = suggest(name, names);
  if (near && near->ends_with('K')) fix = "write " + near->substr(0, near->size() - 1) + "5, or another K";
  return fail(error_code::unknown_name, "metric " + asked, "unknown metric, expected one of " + metric_list(),
              std::move(fix));
}

std::string options_of(const metric_kind& kind) {
  std::string options(kind.options);
  if (kind.has_interval) options += (options.empty() ? "" : " ") + std::string("confidence resamples seed");
  return options;
}

const metric_kind* kind_of(std::string_view name) {
  for (const metric_kind& kind : metric_kinds) {
    if (is_named(kind, base_name(name))) return &kind;
  }
  return nullptr;
}

template <class Wanted>
std::string list_of(Wanted wanted) {
  std::string list;
  for (const metric_kind& kind : metric_kinds) {
    if (wanted(kind)) list += (list.empty() ? "" : ", ") + std::string(kind.name);
  }
  return list;
}

/// An interval that the metric's own name asks for, or else all metrics of the sink.
expected<metric_ptr> with_asked_interval(metric_ptr made, const metric_request& asked, const interval_options& all) {
  const metric_settings& own = asked.settings;
  if (!own.has("confidence") && all.confidence == 0) {
    for (const char* option : {"resamples", "seed"}) {
      if (!own.has(option)) continue;
      return fail(error_code::flags_contradict, "metric " + asked.name + ", option " + option,
                  "it is for a confidence interval, and none is asked for",
                  "add :confidence=0.95 to the name, or leave " + std::string(option) + " out");
    }
    return made;
  }
  return with_interval(
      std::move(made),
      {.confidence = own.real("confidence", all.confidence),
       .resamples = static_cast<std::uint32_t>(own.whole("resamples").value_or(all.resamples)),
       .seed = static_cast<std::uint64_t>(own.whole("seed").value_or(static_cast<std::int64_t>(all.seed)))});
}

}  // namespace

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  names.reserve(metric_kinds.size());
  for (const metric_kind& kind : metric_kinds) names.emplace_back(kind.name);
  return names;
}

std::string metric_list() {
  return list_of([](const metric_kind&) { return true; });
}

std::string metric_list(metric_task task) {
  return list_of([task](const metric_kind& kind) { return kind.task == task; });
}

std::string canonical_metric_name(const std::string& name) {
  const metric_kind* kind = kind_of(name);
  if (kind == nullptr) return name;
  const auto settings = metric_settings::read(name, options_of(*kind));
  return settings ? std::string(base_name(name)) + settings->text() : name;
}

expected<metric_ptr> make_metric(const std::string& name, std::uint32_t classes, const interval_options& intervals) {
  const std::string base(base_name(name));
  const metric_kind* kind = kind_of(name);
  if (kind == nullptr) return unknown_metric(base, name);
  metric_request asked{.classes = classes};
  if (takes_k(*kind)) {
    const std::int64_t k = TROUPE_TRY(parse_k(*kind, base));
    asked.k = k;
  }
  asked.settings = TROUPE_TRY(metric_settings::read(name, options_of(*kind)));
  asked.name = base + asked.settings.text();
  metric_ptr made = TROUPE_TRY(kind->make(asked));
  return with_asked_interval(std::move(made), asked, intervals);
}

expected<void> check_class_state(const metric_request& asked, std::uint32_t classes_max) {
  if (asked.classes == 0) {
    return fail(error_code::value_out_of_range, "metric " + asked.name,
                "counts per class, but the labels of these data are no classes",
                "give one integer label per sample (of one-hot labels: labels.argmax(1)), or choose another metric: " +
                    metric_list(metric_task::numbers) + "; for several labels of 0 and 1: auroc, " +
                    metric_list(metric_task::labels));
  }
  if (asked.classes <= classes_max) return {};
  return fail(
      error_code::value_out_of_range, "metric " + asked.name,
      "the data have " + std::to_string(asked.classes) + " classes, and it counts up to " + std::to_string(classes_max),
      asked.classes <= limits::metric_classes_max ? "choose f1, per_class_accuracy, accuracy or a topK"
                                                  : "choose accuracy or a topK");
}

void merge_counts(std::span<std::uint64_t> total, std::span<const std::uint64_t> part) {
  TROUPE_CHECK(total.size() == part.size(), "states of one metric have one size");
  for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i];
}

}  // namespace troupe
