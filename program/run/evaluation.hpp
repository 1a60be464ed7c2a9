#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/call_ticket.hpp"
#include "runtime/journal/journal_writer.hpp"
#include "runtime/metric/metric_fold.hpp"
#include "runtime/metric/row_writer.hpp"
#include "runtime/metric/scored_tensor.hpp"
#include "runtime/predictions/prediction_documents.hpp"
#include "runtime/wiring/assembly.hpp"
#include <troupe/data_set.hpp>
#include <troupe/metric.hpp>
#include <troupe/options.hpp>
#include <troupe/result.hpp>

namespace troupe {

/// What one sink scores.
struct sink_request {
  std::string name = "metrics";
  std::vector<metric_ptr> metrics;
  /// Keeps the predictions, and has no value; null where none are written, or where one of the metrics has them.
  metric_ptr predictions = nullptr;
  /// Where to.
  prediction_options prediction_file = {};
  /// See metric_scorer.
  scored_names names = {};
  /// Micro-batches may reach it without some of their samples (nodes_with_parts).
  bool has_parts = false;

  /// All that is kept of a micro-batch: the metrics, then the predictions.
  [[nodiscard]] std::vector<metric_ptr> kept() const;
};

/// What to evaluate: the first `limit` samples (all without one) of a data set, by the metrics of each sink.
struct evaluation_request {
  data_set_ptr data;
  std::uint64_t micro_batch = 64;
  std::optional<std::uint64_t> limit;
  /// In the order of the wiring plan's; at least one.
  std::vector<sink_request> sinks;
  /// Threads that read the data (data_set_source).
  std::uint32_t data_workers = 1;
};

/// One exact evaluation as a call: makes the ticket, and the result from how the call ended.
class evaluation {
 public:
  /// E0611: a file of predictions cannot be written. E0104: FILE.json, and no metric has predictions.
  [[nodiscard]] static expected<std::unique_ptr<evaluation>> make(evaluation_request request);

  [[nodiscard]] const call_ticket_ptr& ticket() const noexcept { return ticket_; }
  [[nodiscard]] std::uint64_t samples_asked() const noexcept { return samples_; }
  [[nodiscard]] std::uint64_t micro_batches_asked() const noexcept { return micro_batches_; }

  /// Folds what an earlier run folded: states of a journal, in their order. Before the ticket is submitted. A state
  /// that this evaluation cannot have is E0802; a metric that throws is E0603.
  [[nodiscard]] expected<void> restore(const score& state);
  /// From now on folded states are appended there. After the last restore, before the ticket is submitted.
  void append_to(const std::shared_ptr<journal_writer>& journal);
  /// Micro-batches asked for that were restored on every sink.
  [[nodiscard]] std::uint64_t micro_batches_resumed() const noexcept { return ticket_->start.first(); }

  /// How many samples so many micro-batches hold, from the first.
  [[nodiscard]] std::uint64_t samples_in(std::uint64_t micro_batches) const noexcept;

  /// Once the ticket's future is ready: metrics and delivery. `partial` where less was folded than asked for. A metric
  /// that throws is E0603. Puts the files of predictions in their places; E0611 if that fails.
  [[nodiscard]] expected<run_result> result(const call_outcome& outcome) const;

 private:
  explicit evaluation(evaluation_request request);
  expected<void> add_sink(const sink_request& sink);
  [[nodiscard]] bool has_its_samples(const score& state) const;

  evaluation_request request_;
  std::uint64_t samples_ = 0;
  std::uint64_t micro_batches_ = 0;
  std::vector<std::shared_ptr<metric_fold>> folds_;
  /// By sink; null where no predictions are written.
  std::vector<std::shared_ptr<row_writer>> prediction_files_;
  /// By sink; null where no predictions of a task are written.
  std::vector<std::shared_ptr<prediction_documents>> documents_;
  call_ticket_ptr ticket_;
};

/// One report per stage replica for what it did between two moments of a call that took `wall`; `layers` by
/// stage.
std::vector<stage_report> stage_reports(const stage_accounts& accounts, const std::vector<stage_usage>& before,
                                        const std::vector<stage_usage>& after, std::chrono::nanoseconds wall,
                                        const std::vector<std::vector<std::string>>& layers);

}  // namespace troupe
