#include "runtime/metric/metric_fold.hpp"

#include <algorithm>
#include <string>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "runtime/metric/metric_table.hpp"
#include "runtime/metric/score_layout.hpp"

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
      rows_(metrics_.size()),
      rows_each_(micro_batch),
      rows_in_all_(samples) {}

expected<void> metric_fold::fold(const score& added) {
  TROUPE_CHECK(!last_ || *last_ < added.id, "scores are folded once each, in the order of their ids");
  if (added.samples > 0) TROUPE_TRY(add(added));  // an empty part of a route has no states
  last_ = added.id;
  samples_ += added.samples;
  ++micro_batches_;
  return {};
}

expected<void> metric_fold::add(const score& added) {
  const auto rows = rows_in(metrics_, added.words);
  if (!rows) {
    return fail(error_code::wire_malformed, to_string(added.id), rows.error(),
                "run the same version of Troupe everywhere");
  }
  std::span<std::uint64_t> total = words_;
  std::span<const std::uint64_t> words = added.words;
  for (const metric_ptr& each : metrics_) {
    if (auto merged = merge_one(*each, total.first(each->words()), words.first(each->words())); !merged) {
      merged.error().where = to_string(added.id) + ", " + merged.error().where + rows_of(added.id.index);
      return merged;
    }
    total = total.subspan(each->words());
    words = words.subspan(each->words());
  }
  merge_counts(total, words.first(odd_words));
  return add_rows(added.id, *rows);
}

expected<void> metric_fold::add_rows(micro_batch_id id, const std::vector<std::span<const std::byte>>& rows) {
  auto next = rows.begin();
  for (std::size_t index = 0; index < metrics_.size(); ++index) {
    if (metrics_[index]->row_bytes() == 0) continue;
    if (writer_ != nullptr && index + 1 == metrics_.size()) return writer_->append(id, *next);
    std::vector<std::byte>& all = rows_[index];
    if (all.size() + next->size() > limits::metric_rows_bytes_max) {
      return fail(error_code::metric_failed, to_string(id) + ", metric " + metrics_[index]->name() + rows_of(id.index),
                  "it has kept " + std::to_string(all.size()) + " bytes of the samples before, at most " +
                      std::to_string(limits::metric_rows_bytes_max) + " are kept",
                  "evaluate fewer samples (--limit), or choose metrics that keep less of each sample");
    }
    all.insert(all.end(), next->begin(), next->end());
    ++next;
  }
  return {};
}

std::string metric_fold::rows_of(std::uint64_t index) const {
  if (rows_each_ == 0) return {};
  const std::uint64_t begin = index * rows_each_;
  return ", samples " + std::to_string(begin) + " to " + std::to_string(std::min(begin + rows_each_, rows_in_all_) - 1);
}

metric_total metric_fold::total_of(const metric_ptr& one) const {
  std::span<const std::uint64_t> rest = words_;
  for (std::size_t index = 0; index < metrics_.size(); ++index) {
    const std::size_t words = metrics_[index]->words();
    if (metrics_[index] == one) return {rest.first(words), rows_[index]};
    rest = rest.subspan(words);
  }
  TROUPE_CHECK(false, "a metric of this fold");
  return {};
}

expected<std::vector<metric_value>> metric_fold::compute() const {
  std::vector<metric_value> values;
  std::span<const std::uint64_t> rest = words_;
  const std::size_t count = metrics_.size() - (writer_ != nullptr ? 1 : 0);
  for (std::size_t index = 0; index < count; ++index) {
    const metric_ptr& each = metrics_[index];
    try {
      values.push_back(each->compute_total({rest.first(each->words()), rows_[index]}));
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
