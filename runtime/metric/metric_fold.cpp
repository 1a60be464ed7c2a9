#include "runtime/metric/metric_fold.hpp"

#include <algorithm>
#include <string>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/metric/metric_table.hpp"

namespace troupe {
namespace {

constexpr const char* user_code_fix = "mend the metric, or choose another one";

expected<void> merge_one(const metric& one, std::span<std::uint64_t> total, std::span<const std::uint64_t> part) try {
  one.merge_words(total, part);
  return {};
} catch (...) {
  return fail(error_code::metric_failed, "metric " + one.name(), "its merge threw: " + current_exception_text(),
              user_code_fix);
}

}  // namespace

metric_fold::metric_fold(std::vector<metric_ptr> metrics, std::uint64_t micro_batch, std::uint64_t samples)
    : metrics_(std::move(metrics)),
      words_(score_words_of(metrics_), 0),
      rows_each_(micro_batch),
      rows_in_all_(samples) {}

expected<void> metric_fold::fold(const score& added) {
  TROUPE_CHECK(!last_ || *last_ < added.id, "scores are folded once each, in the order of their ids");
  if (added.samples > 0 && added.words.size() != words_.size()) {
    return fail(error_code::wire_malformed, to_string(added.id),
                "a score of " + std::to_string(words_.size()) + " words was expected, found " +
                    std::to_string(added.words.size()),
                "run the same version of Troupe everywhere");
  }
  std::span<std::uint64_t> total = words_;
  std::span<const std::uint64_t> words = added.words;
  for (const metric_ptr& each : metrics_) {
    if (added.samples == 0) break;  // an empty part of a route has no states
    if (auto merged = merge_one(*each, total.first(each->words()), words.first(each->words())); !merged) {
      merged.error().where = to_string(added.id) + ", " + merged.error().where + rows_of(added.id.index);
      return merged;
    }
    total = total.subspan(each->words());
    words = words.subspan(each->words());
  }
  if (added.samples > 0) merge_counts(total, words);
  last_ = added.id;
  samples_ += added.samples;
  ++micro_batches_;
  return {};
}

std::string metric_fold::rows_of(std::uint64_t index) const {
  if (rows_each_ == 0) return {};
  const std::uint64_t begin = index * rows_each_;
  return ", samples " + std::to_string(begin) + " to " + std::to_string(std::min(begin + rows_each_, rows_in_all_) - 1);
}

expected<std::vector<metric_value>> metric_fold::compute() const {
  std::vector<metric_value> values;
  std::span<const std::uint64_t> rest = words_;
  for (const metric_ptr& each : metrics_) {
    try {
      values.push_back(each->compute_words(rest.first(each->words())));
    } catch (...) {
      return fail(error_code::metric_failed, "metric " + each->name(),
                  "its compute threw: " + current_exception_text() + ", for " + std::to_string(samples_) + " samples",
                  user_code_fix);
    }
    rest = rest.subspan(each->words());
  }
  return values;
}

}  // namespace troupe
