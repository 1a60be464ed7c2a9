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
#include "program/protect/kept_training.hpp"
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
  explicit impl(std::shared_ptr<const training_options> how) : training(std::move(how)), safe(training->protect) {}

  std::shared_ptr<const training_options> training;
  /// What runs the stages, and evaluates between steps.
  std::unique_ptr<pipeline_engine> engine;
  training_counts counts = {};
  /// The last micro-batch of a step was taken, and the step is not decided.
  std::shared_ptr<std::atomic<bool>> is_at_boundary = std::make_shared<std::atomic<bool>>(false);
  /// The last decision since the stages were started.
  std::optional<step_decision> decided = std::nullopt;
  /// Nothing where stages could not be started: then `lost` is set.
  std::optional<stage_state_reader> reader = std::nullopt;
  /// What the training begins again from where states are lost.
  kept_training safe;
  /// Set while a state is lost, or stages could not be started: recover() comes first.
  std::optional<error> lost = std::nullopt;
  /// Since the last new step.
  std::uint32_t losses_in_row = 0;
  /// The steps of `safe` that the stages have behind them: all but within recover(), or where it was ended.
  std::size_t redone = 0;

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
  /// That were injected into stages which began again since.
  std::vector<fault_report> earlier_faults = {};
  /// What these have done.
  std::vector<stage_usage> earlier_usage = {};
  /// Writes the checkpoint that was begun last.
  std::thread saver = {};

  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;
  ~impl() { wait_for_save(); }

  void wait_for_save() {
    if (saver.joinable()) saver.join();
  }

  /// What the stages have, behind the last decision. Where states are lost, after recover().
  [[nodiscard]] expected<training_snapshot> snapshot();
  [[nodiscard]] expected<training_snapshot> read_states();
  [[nodiscard]] expected<training_snapshot> read_left();
  [[nodiscard]] const trained_pipeline& trained() const;
  /// Starts the stages again, with this state.
  [[nodiscard]] expected<void> begin_with(std::shared_ptr<const training_snapshot> given,
                                          std::shared_ptr<const training_snapshot> before);
  /// Stops them, and starts others; null: with fresh weights.
  [[nodiscard]] expected<void> stop_stages() const;
  [[nodiscard]] expected<void> start_stages(const std::shared_ptr<const training_snapshot>& with,
                                            const model_source& of);
  /// The model with what training leaves alone, such as frozen statistics, as these weights have it. Workers find it in
  /// `file`, where there are any, and it is not what the model has.
  [[nodiscard]] expected<model_source> source_with(const state_dict& weights, std::optional<state_file>& file) const;
  /// One step over the micro-batches of a source. It is given up with what `ended`, which is asked now and then, says;
  /// nothing: the step goes on. Null: it ends after its time. A step that was decided meanwhile is done all the same.
  using end_of_step = std::function<std::optional<error>()>;
  /// Where states are lost, they are had again as training_options::protect says, and the step is done again.
  [[nodiscard]] expected<train_output> step(std::shared_ptr<micro_batch_source> from, const end_of_step& ended);
  [[nodiscard]] expected<train_output> step_once(std::shared_ptr<micro_batch_source> from, const end_of_step& ended);
  /// Where states were lost: the stages begin again, and do what they have done since. E0620 where nothing was kept.
  [[nodiscard]] expected<void> recover(const end_of_step& ended);
  [[nodiscard]] expected<void> begin_again();
  /// `met`: by the stages that have stopped.
  void note_faults(std::vector<fault_report> met);
  /// Those of all stages that there were.
  [[nodiscard]] std::vector<fault_report> faults() const;
  [[nodiscard]] std::vector<stage_usage> usage() const;
  [[nodiscard]] expected<void> redo(const end_of_step& ended);
  void keep(std::shared_ptr<kept_batches> done);
  /// E0620 alone: recover() has something to do, and what has failed can be done again behind it.
  bool note_loss(const error& cause);
  bool note_loss(const expected<run_result>& of);
  /// Until the step is decided.
  [[nodiscard]] expected<call_outcome> run(const std::shared_ptr<step_source>& source,
                                           const std::shared_ptr<step_losses>& losses, const end_of_step& ended);
};

}  // namespace troupe
