#include "runtime/metric/scored_rows.hpp"

#include <cmath>
#include <sstream>

#include "messages/try.hpp"

namespace troupe {

namespace {

/// As wide as that of nll: probabilities in bfloat16 add up to 1 within it.
constexpr double sum_tolerance = 0.05;

std::vector<double> numbers_of(const at::Tensor& tensor) {
  std::vector<double> numbers;
  numbers.reserve(static_cast<std::size_t>(tensor.numel()));
  with_rows_of(tensor, [&](const auto& rows) {
    for (std::int64_t i = 0; i < rows.samples; ++i) {
      for (std::int64_t j = 0; j < rows.classes; ++j) numbers.push_back(static_cast<double>(rows.at(i, j)));
    }
  });
  return numbers;
}

/// E0603 for an element that is neither 0 nor 1.
expected<std::vector<std::uint8_t>> flags_of(const std::string& metric, const at::Tensor& labels) {
  const std::vector<double> numbers = numbers_of(labels);
  std::vector<std::uint8_t> flags(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != 0 && numbers[i] != 1) {
      std::ostringstream found;
      found << "expected labels of 0 and 1, found " << numbers[i];
      const std::size_t sample = i / (numbers.size() / static_cast<std::size_t>(labels.size(0)));
      return fail(error_code::metric_failed, metric + ", sample " + std::to_string(sample) + " of the micro-batch",
                  found.str(), "check that model and data belong together");
    }
    flags[i] = numbers[i] == 1 ? 1 : 0;
  }
  return flags;
}

std::string shapes_of(const score_rules& rules) {
  std::string text;
  const auto add = [&](bool is_taken, const char* shapes) {
    if (is_taken) text += (text.empty() ? "" : "; or ") + std::string(shapes);
  };
  add(rules.takes_classes, "outputs [samples, classes] with labels [samples] of type Long");
  add(rules.takes_binary, "one output per sample with labels [samples] of 0 and 1");
  add(rules.takes_labels, "outputs and labels [samples, labels]");
  return text;
}

}  // namespace

score_source score_source::of(const metric_settings& settings) {
  return {settings.has("from"), settings.word("from", "logits") == "probabilities"};
}

expected<scored_rows> scored_rows::open(const std::string& metric, const scored_part& part, const score_rules& rules) {
  const at::Tensor& outputs = *TROUPE_TRY(part.output());
  const at::Tensor& labels = *TROUPE_TRY(part.label());
  const bool are_numbers = is_on_cpu(outputs) && is_on_cpu(labels) && outputs.numel() > 0 && outputs.dim() <= 2 &&
                           outputs.dim() > 0 && labels.dim() <= 2 && labels.dim() > 0 && is_real(outputs) &&
                           (is_real(labels) || labels.scalar_type() == at::kLong) && outputs.size(0) == labels.size(0);
  scored_rows made;
  if (are_numbers && rules.takes_binary && is_column(outputs) && is_column(labels)) {
    made.kind_ = score_kind::binary;
    made.flags_ = TROUPE_TRY(flags_of(metric, labels));
  } else if (are_numbers && rules.takes_labels && outputs.dim() == 2 && outputs.sizes() == labels.sizes()) {
    made.kind_ = score_kind::labels;
    made.flags_ = TROUPE_TRY(flags_of(metric, labels));
  } else if (are_numbers && rules.takes_classes && outputs.dim() == 2 && is_column(labels)) {
    made.kind_ = score_kind::classes;
    TROUPE_TRY(check_outputs(metric, outputs, labels));
    if (rules.known_classes > 0) TROUPE_TRY(check_known_classes(metric, labels, rules.known_classes));
    made.flags_.assign(static_cast<std::size_t>(outputs.numel()), 0);
    const label_column column = labels_of(labels);
    for (std::int64_t i = 0; i < labels.size(0); ++i) {
      made.labels_.push_back(static_cast<std::size_t>(column.at(i)));
      made.flags_[static_cast<std::size_t>(i * outputs.size(1) + column.at(i))] = 1;
    }
  } else {
    return fail(
        error_code::metric_failed, metric,
        "expected " + shapes_of(rules) + "; found outputs " + described(outputs) + " and labels " + described(labels),
        "use a model and data of such shapes, or write a metric of your own");
  }
  made.samples_ = static_cast<std::size_t>(outputs.size(0));
  made.columns_ = outputs.dim() == 1 ? 1 : static_cast<std::size_t>(outputs.size(1));
  made.scores_ = numbers_of(outputs);
  return made;
}

void make_probabilities(score_kind kind, std::span<double> scores) noexcept {
  if (kind != score_kind::classes) {
    // Each branch has an exponential of at most 1.
    for (double& x : scores) x = x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
    return;
  }
  double greatest = scores.front();
  for (const double x : scores) greatest = x > greatest ? x : greatest;
  double sum = 0;
  for (double& x : scores) sum += x = std::exp(x - greatest);
  for (double& x : scores) x /= sum;
}

expected<void> judge_source(const std::string& metric, scored_rows batch, const score_source& source) {
  if (source.is_given && !source.are_probabilities) return {};
  bool may_be = true;
  std::ostringstream found;
  for (std::size_t i = 0; i < batch.size() && may_be; ++i) {
    double sum = 0;
    for (const double x : batch.at(i).scores) {
      sum += x;
      if (!may_be || std::isnan(x) || (x >= 0 && x <= 1)) continue;
      may_be = false;
      found << x << " in sample " << i;
    }
    if (may_be && batch.kind() == score_kind::classes && std::abs(sum - 1) > sum_tolerance) {
      may_be = false;
      found << "a sum of " << sum << " in sample " << i;
    }
  }
  if (may_be == source.is_given) return {};
  if (source.is_given) {
    return fail(error_code::metric_does_not_fit, metric,
                "expected probabilities, from 0 to 1" +
                    std::string(batch.kind() == score_kind::classes ? " with a sum of 1" : "") + ", found " +
                    found.str(),
                "leave from=probabilities out, or end the model with softmax or sigmoid");
  }
  return fail(error_code::metric_does_not_fit, metric,
              "the outputs look like probabilities, and it takes logits unless it is told what they are",
              "write " + metric + ":from=probabilities, or " + metric + ":from=logits");
}

}  // namespace troupe
