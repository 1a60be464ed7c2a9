#include <utility>

#include "messages/try.hpp"
#include "program/engine_state.hpp"
#include "program/models/own_thread.hpp"
#include "program/start/training_pins.hpp"
#include "program/training_engine_state.hpp"
#include "runtime/step/step_journal.hpp"
#include "runtime/step/step_ledger.hpp"
#include "runtime/step/step_losses.hpp"

namespace troupe {

train_output output_of(const step_record& decided, const step_losses::totals& totals) {
  return {.loss = totals.loss_sum / totals.weight,
          .loss_sum = totals.loss_sum,
          .weight = totals.weight,
          .micro_batches = totals.micro_batches,
          .samples = totals.samples,
          .step = decided.decision.step,
          .learning_rate = decided.decision.learning_rate,
          .gradient_norm = decided.norm};
}

/// Last of all, when nothing else can be refused any more.
expected<void> training_engine::impl::open_journal(const training_journal_options& asked) {
  pipeline_engine::impl& pipeline = *engine->impl_;
  for (journal_options* each :
       {&pipeline.options.run.journal, &pipeline.checked.options.journal, &pipeline.config.run.journal}) {
    *each = {};  // evaluations between steps keep none
  }
  if (asked.file.empty()) return {};
  const training_snapshot initial = TROUPE_TRY(snapshot());
  const auto pins = TROUPE_TRY(in_own_thread("weights", "the weights could not be read",
                                             [&] { return pins_of_training(pipeline.checked, initial, asked.pins); }));
  journal = TROUPE_TRY(step_journal::open(asked.file, asked.resume, pins));
  journal_file = asked.file;
  write_as_faults_say();
  return {};
}

void training_engine::impl::write_as_faults_say() {
  const fault_injector* const faults = engine->impl_->stages.running->faults();
  if (!journal || faults == nullptr || !faults->disk()) return;
  journal->writer().write_with(
      [disk = faults->disk()](int fd, const void* from, std::size_t size) { return disk->write(fd, from, size); });
}

/// As late as before the first step, since a checkpoint may have been loaded meanwhile.
expected<void> training_engine::impl::attach_journal() {
  if (is_journal_attached) return {};
  running_topology& running = *engine->impl_->stages.running;
  step_replay earlier = journal ? journal->replay_from(counts.decisions) : step_replay(counts.decisions);
  TROUPE_TRY(earlier.check_reach());
  std::shared_ptr<journal_appender> to = journal;
  if (fault_injector* const faults = running.faults()) to = faults->wrap(std::move(to));
  if (to) running.engines().steps->keep(std::move(to), std::move(earlier));
  is_journal_attached = true;
  return {};
}

std::vector<train_output> training_engine::journaled_steps() const {
  std::vector<train_output> made;
  if (!impl_->journal) return made;
  for (const step_record& each : impl_->journal->before(impl_->counts.decisions)) {
    if (const auto totals = step_losses::totals_of(each)) made.push_back(output_of(each, *totals));
  }
  return made;
}

}  // namespace troupe
