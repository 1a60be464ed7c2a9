#include "actors/aggregator.hpp"

#include <utility>

#include "messages/limits.hpp"

namespace troupe {

aggregator_actor::behavior_type aggregator(aggregator_actor::stateful_pointer<aggregator_state> self,
                                           std::shared_ptr<fold_ledger> ledger,
                                           std::shared_ptr<stage_accounts> accounts, director_actor director,
                                           monitor_actor monitor) {
  self->state.ledger = std::move(ledger);
  self->state.accounts = std::move(accounts);
  self->state.director = std::move(director);
  self->state.monitor = std::move(monitor);
  return self->state.behavior();
}

aggregator_actor::behavior_type aggregator_state::behavior() {
  return {
      [this](const meet_loader& meet) {
        loader = meet.loader;
        tell_low_water();  // the last mark may have been lost with the loader's actor before this one
      },
      [this](const open_ticket& open) {
        ledger->begin(open.ticket->number, open.ticket->folds, open.ticket->start,
                      open.ticket->trains ? call_end::when_committed : call_end::when_folded);
        return call_opened{open.ticket->number};
      },
      [this](score_batch& batch) {
        if (batch.scores.empty()) return;
        const stage_accounts::taking_in folding(*accounts);
        const call_number call = batch.scores.back().id.call;
        for (score& each : batch.scores) ledger->fold(std::move(each));
        after_change(call);
      },
      [this](const call_size& end) {
        ledger->close(end);
        after_change(end.call);
      },
      [this](const commit_call& decided) {
        ledger->commit(decided.call);
        after_change(decided.call);
      },
      [this](const cancel_call& cancel) {
        ledger->cancel(cancel.call);
        after_change(cancel.call);
      },
  };
}

void aggregator_state::after_change(call_number touched) {
  if (ledger->low_water() != told_low_water_) tell_low_water();
  const auto now = self->clock().now();
  if (now - last_report_ >= limits::report_interval) {
    last_report_ = now;
    report_progress(touched);
  }
  if (const auto step = ledger->folded_step()) tell(self, director, call_folded{*step, ledger->tally(*step)->folded});
  while (auto ended = ledger->take_ended()) {
    tell(self, monitor, call_progress{ended->call, ended->folded, ended->samples});
    tell(self, director, call_completed{*ended});
  }
}

void aggregator_state::tell_low_water() {
  told_low_water_ = ledger->low_water();
  tell(self, loader, low_water{told_low_water_});
}

void aggregator_state::report_progress(call_number call) {
  if (const auto tally = ledger->tally(call)) tell(self, monitor, call_progress{call, tally->folded, tally->samples});
}

}  // namespace troupe
