#include <charconv>
#include <optional>

#include "messages/limits.hpp"
#include "runtime/metric/kinds.hpp"
#include "runtime/suggest/suggest.hpp"

namespace troupe {

namespace {

constexpr std::string_view any_k = "topK";

bool is_top(const std::string& name) {
  return name.size() > 3 && name.starts_with("top") && name.find_first_not_of("0123456789", 3) == std::string::npos;
}

expected<metric_ptr> make_top(const std::string& name) {
  std::int64_t k = 0;
  const auto [stop, failure] = std::from_chars(name.data() + 3, name.data() + name.size(), k);
  if (failure != std::errc{} || k < 1 || k > limits::metric_classes_max || name[3] == '0') {
    return fail(error_code::value_out_of_range, "metric " + name,
                "expected a K from 1 to " + std::to_string(limits::metric_classes_max) + " without leading zeros",
                "write top5, or another K");
  }
  return make_top_k(name, k);
}

/// `words_per_class`: of the state of one micro-batch, which travels to the aggregator.
expected<void> check_classes(const std::string& name, std::uint32_t classes, std::uint64_t words_per_class) {
  if (classes == 0) {
    return fail(error_code::value_out_of_range, "metric " + name,
                "counts per class, but the labels of these data are no classes", "choose another metric");
  }
  if (classes > limits::metric_classes_max || classes * words_per_class > limits::score_words_max) {
    return fail(error_code::value_out_of_range, "metric " + name,
                std::to_string(classes) + " classes need a state larger than the limit (" +
                    std::to_string(limits::metric_classes_max) + " classes, " +
                    std::to_string(limits::score_words_max) + " words)",
                "choose accuracy or a topK");
  }
  return {};
}

tl::unexpected<error> unknown_metric(const std::string& name) {
  const std::vector<std::string> names = metric_names();
  std::string list;
  for (const std::string& known : names) list += (list.empty() ? "" : ", ") + known;
  std::string fix = suggest_fix(name, names);
  if (suggest(name, names) == any_k) fix = "write top5, or another K";
  return fail(error_code::unknown_name, "metric " + name, "unknown metric, expected one of " + list, std::move(fix));
}

}  // namespace

std::vector<std::string> metric_names() {
  return {"accuracy", std::string(any_k), "per_class_accuracy", "confusion_matrix", "cross_entropy", "nll"};
}

expected<metric_ptr> make_metric(const std::string& name, std::uint32_t classes) {
  if (name == "accuracy") return make_top_k(name, 1);
  if (name == "cross_entropy") return make_cross_entropy();
  if (name == "nll") return make_nll();
  if (is_top(name)) return make_top(name);
  if (name == "per_class_accuracy") {
    if (expected<void> fine = check_classes(name, classes, 2); !fine) return tl::make_unexpected(fine.error());
    return make_per_class_accuracy(classes);
  }
  if (name == "confusion_matrix") {
    if (expected<void> fine = check_classes(name, classes, std::uint64_t{classes} + 1); !fine) {
      return tl::make_unexpected(fine.error());
    }
    return make_confusion_matrix(classes);
  }
  return unknown_metric(name);
}

}  // namespace troupe
