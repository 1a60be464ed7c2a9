#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "actors/call_ticket.hpp"
#include "program/models/state_file.hpp"
#include "program/run/trained_state.hpp"
#include "runtime/step/step_losses.hpp"
#include <troupe/training_engine.hpp>

namespace troupe {

class micro_batch_source;
class step_journal;
class step_source;

/// What train_batch() returns for a step that was decided so; `exhausted` is left to the caller.
[[nodiscard]] train_output output_of(const step_record& decided, const step_losses::totals& totals);

struct training_engine::impl {
  std::shared_ptr<const training_options> training;
  /// What runs the stages, and evaluates between steps.
  std::unique_ptr<pipeline_engine> engine;
  training_counts counts = {};
  /// The last micro-batch of a step was taken, and the step is not decided.
  std::shared_ptr<std::atomic<bool>> is_at_boundary = std::make_shared<std::atomic<bool>>(false);
  /// The call of the last decision.
  std::optional<call_number> decided = std::nullopt;

  /// Null without one. The decisions of the stages that run now are kept there from the first step on.
  std::shared_ptr<step_journal> journal = nullptr;
  std::string journal_file = {};
  bool is_journal_attached = false;

  /// With the weights as they are before the first step.
  [[nodiscard]] expected<void> open_journal(const training_journal_options& asked);
  [[nodiscard]] expected<void> attach_journal();
  /// On the disk of a fault, where there is one.
  void write_as_faults_say();
  [[nodiscard]] call_ticket_ptr make_ticket(const std::shared_ptr<step_source>& source,
                                            const std::shared_ptr<step_losses>& losses) const;
  /// Writes the checkpoint that was begun last.
  std::thread saver = {};

  impl() = default;
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;
  ~impl() { wait_for_save(); }

  void wait_for_save() {
    if (saver.joinable()) saver.join();
  }

  /// What the stages have, behind the last decision.
  [[nodiscard]] expected<training_snapshot> snapshot() const;
  [[nodiscard]] const trained_pipeline& trained() const;
  /// Starts the stages again, with this state.
  [[nodiscard]] expected<void> begin_with(std::shared_ptr<const training_snapshot> given,
                                          std::shared_ptr<const training_snapshot> before);
  /// The model with what training leaves alone, such as frozen statistics, as these weights have it. Workers find it in
  /// `file`, where there are any, and it is not what the model has.
  [[nodiscard]] expected<model_source> source_with(const state_dict& weights, std::optional<state_file>& file) const;
  /// One step over the micro-batches of a source. It is given up with what `ended`, which is asked now and then, says;
  /// nothing: the step goes on. A step that was decided meanwhile is done all the same.
  using end_of_step = std::function<std::optional<error>()>;
  [[nodiscard]] expected<train_output> step(std::shared_ptr<micro_batch_source> from, const end_of_step& ended);
  /// Until the step is decided.
  [[nodiscard]] expected<call_outcome> run(const std::shared_ptr<step_source>& source,
                                           const std::shared_ptr<step_losses>& losses, const end_of_step& ended);
};

}  // namespace troupe
