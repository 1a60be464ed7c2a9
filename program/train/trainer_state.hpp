#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "program/train/train_state.hpp"
#include "program/training_engine_state.hpp"
#include "runtime/data/epoch_reader.hpp"
#include <troupe/trainer.hpp>
#include <troupe/training_engine.hpp>

namespace troupe {

struct trainer::impl {
  using clock = std::chrono::steady_clock;

  train_options config;
  train_hooks hooks;
  std::string model_name;
  data_set_ptr data;
  /// Null where nothing is evaluated.
  data_set_ptr eval_data;
  train_data_order order;
  std::shared_ptr<epoch_reader> reader;
  std::unique_ptr<training_engine> engine;
  std::optional<clock::time_point> deadline;
  std::atomic<int> stop_asked{-1};
  std::mutex mutex;
  /// Guarded by `mutex`.
  bool is_evaluating = false;

  train_state state;
  std::uint64_t steps_before = 0;
  /// That of the newest checkpoint, which may still be written.
  std::optional<std::uint64_t> saved_step;
  std::future<expected<void>> saving;
  std::vector<std::string> warnings;

  bool has_run = false;
  bool stuck = false;
  /// All three in this run.
  std::uint64_t samples = 0;
  std::uint64_t micro_batches = 0;
  std::chrono::nanoseconds step_time{0};
  state_dict weights;

  /// The engine's, which its friend may reach.
  [[nodiscard]] training_engine::impl& training() const { return *engine->impl_; }

  [[nodiscard]] expected<void> open(const train_options& options, const train_objects& objects,
                                    training_engine_options& how);
  /// Goes on from the newest checkpoint, if there is one.
  [[nodiscard]] expected<void> resume();
  /// Whether the metrics fit model, data and patience, on one micro-batch.
  [[nodiscard]] expected<void> try_metrics();

  [[nodiscard]] expected<train_result> run();
  /// Steps, evaluations and checkpoints up to the end. An error is what ended it before.
  [[nodiscard]] expected<void> train();
  [[nodiscard]] bool is_done() const;
  [[nodiscard]] bool is_patience_spent() const;
  [[nodiscard]] std::optional<stop_kind> stop_kind_asked() const {
    const int asked = stop_asked.load();
    return asked < 0 ? std::nullopt : std::optional(static_cast<stop_kind>(asked));
  }
  [[nodiscard]] std::optional<error> stop_request() const;
  [[nodiscard]] expected<void> step();
  [[nodiscard]] error advised_in_step(error found) const;
  [[nodiscard]] expected<void> evaluate();
  [[nodiscard]] expected<run_result> evaluate_once();
  [[nodiscard]] expected<void> begin_save();
  /// Waits for the save that is under way; nothing without one.
  [[nodiscard]] expected<void> end_save();
  /// What every so many steps is due, or, without a number, at the end of an epoch.
  [[nodiscard]] bool is_due(const std::optional<std::uint64_t>& every) const;
  [[nodiscard]] bool is_evaluated() const;
  void report(bool is_evaluation) const;
  [[nodiscard]] std::uint64_t steps_total() const;
  /// What a run leaves behind: weights, and the engine stopped.
  void conclude(train_result& result);
  /// However a run ends: stops the stages, and waits for what hooks still have to get. None is called later.
  [[nodiscard]] expected<void> end();
};

/// The checks of options alone, without files: E0103, E0104, E0105.
[[nodiscard]] expected<void> check_train_options(const train_options& options, const train_objects& objects);
/// What the engine of a training is made with.
[[nodiscard]] expected<training_engine_options> engine_options_of(const train_options& options,
                                                                  const train_objects& objects,
                                                                  const train_hooks& hooks);
/// Whether the number is better than the other for this metric.
[[nodiscard]] bool is_better(const std::string& metric, double value, double than);
/// The evaluation whose first metric is the best, among those that have the same one first as the newest: a training
/// that was resumed may have others before. None where that metric is no single number.
[[nodiscard]] const train_evaluation* best_of(const std::vector<train_evaluation>& evaluations);

}  // namespace troupe
