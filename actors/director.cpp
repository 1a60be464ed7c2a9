#include "actors/director.hpp"

#include <utility>

#include "actors/aggregator.hpp"
#include "actors/loader.hpp"
#include "actors/monitor.hpp"
#include "actors/stage.hpp"
#include "messages/check.hpp"
#include "messages/exception_text.hpp"
#include "messages/limits.hpp"
#include "runtime/step/step_ledger.hpp"

namespace troupe {
namespace {

constexpr const char* see_the_log = "see the log (stderr, or --log FILE) for the end of a stage or worker";

}  // namespace

director_actor::behavior_type director(director_actor::stateful_pointer<director_state> self,
                                       director_options options) {
  return self->state.start(std::move(options));
}

director_actor::behavior_type director_state::start(director_options options) {
  options_ = std::move(options);
  budget_ = restart_budget(options_.restarts);
  spawn_children();
  return {
      guarded<open_ticket>([this](const auto& open) { submit(open.ticket); }),
      guarded<cancel_ticket>([this](const auto& request) { cancel(request); }),
      guarded<cut_calls>([this](const auto&) { cut(); }),
      guarded<stop_request>([this](const auto& request) { stop(request.mode); }),
      guarded<stage_ready>([this](const auto& ready) { stage_is_ready(ready); }),
      guarded<stage_lost>([this](const auto& lost) { stage_is_lost(lost); }),
      guarded<edge_lost>([this](const auto& lost) {
        tell_after(self_, limits::edge_loss_patience, director_actor{self_}, edge_still_lost{lost});
      }),
      guarded<edge_still_lost>([this](const auto& lost) { edge_is_lost(lost.news); }),
      guarded<work_lost>([this](const auto& lost) { work_is_lost(lost); }),
      guarded<loading_paused>([this](const auto& paused) { start_epoch(paused); }),
      guarded<failure>([this](const auto& what) {
        what.micro_batch ? cancel(what.micro_batch->call, what.cause) : fatal(what.cause);
      }),
      guarded<call_folded>([this](const auto& what) { is_folded(what); }),
      guarded<step_vote>([this](const auto& vote) { count(vote); }),
      guarded<call_completed>([this](const auto& end) { ended(end); }),
      guarded<stopped>([this](const auto& what) { engine_stopped(what); }),
  };
}

void director_state::spawn_children() {
  self_->set_down_handler(guarded<caf::down_msg>([this](const auto& down) { child_died(down); }));
  monitor_ = self_->spawn<caf::monitored>(monitor, options_.reports);
  spawn_aggregator();
  spawn_loader();
  options_.engines->loader->listen(report_to(loader_, *options_.engines->loader));
  start_engines();
}

void director_state::start_engines() try {
  start_stages();
  if (auto started = options_.host->start(options_.engines->loader); started) {
    loader_running_ = true;
  } else {
    tell(self_, director_actor{self_},
         failure{{}, 0, options_.engines->loader->name(), std::nullopt, started.error(), 0});
  }
} catch (const std::exception& e) {
  const error cause{error_code::process_failed, "director", "the stages could not be started: " + exception_text(e),
                    "raise the limit that it names, or use fewer stages and replicas"};
  tell(self_, director_actor{self_}, failure{{}, 0, "director", std::nullopt, cause, 0});
}

// --- calls -----------------------------------------------------------------------------------------------------------

void director_state::submit(const call_ticket_ptr& ticket) {
  if (phase_ != run_phase::serving) {
    const error stopping{error_code::engine_stopped, "director", "the run is stopping", "start a new run"};
    return refuse(ticket, failed_for_.value_or(stopping));
  }
  if (calls_.full()) {
    return refuse(ticket, {error_code::queue_full, "director",
                           std::to_string(limits::calls_queued_max) + " calls are open already",
                           "wait for one of them before the next"});
  }
  const call_number number = calls_.open(ticket);
  if (ticket->trains) options_.steps->begin(number);
  open_at_aggregator(number);
  for (const auto& [at, one] : stages_.members()) {
    if (one.now == stage_roster::standing::ready || one.now == stage_roster::standing::wired) open_at(at, number);
  }
}

void director_state::open_at_aggregator(call_number number) {
  const auto on_error = [this, number, asked = aggregator_](const caf::error& e) {
    if (asked != aggregator_ || e == caf::sec::request_receiver_down) return;  // its successor opens it
    cancel(number, {error_code::stage_unresponsive, "call " + std::to_string(number),
                    "the aggregator did not open it: " + self_->system().render(e), see_the_log});
  };
  self_->request(aggregator_, options_.request_timeout, open_ticket{calls_.at(number).ticket})
      .then(
          [this, number](const call_opened&) {
            calls_.acknowledge_by_aggregator(number);
            load_in_order();
          },
          on_error);
}

/// Asks a stage that is there. A stage that starts later is asked when it is ready, and before it gets edges.
void director_state::open_at(stage_address at, call_number number) {
  calls_.await(number, at);
  ask_to_open(at, number, limits::control_request_attempts - 1);
}

/// Asks again after a time-out, because this process may have been frozen meanwhile; a stage may be asked twice. After
/// the last attempt the worker of the stage is ended: its successor is told of the call when it is ready.
void director_state::ask_to_open(stage_address at, call_number number, std::uint32_t attempts_left) {
  const stage_roster::member& one = stages_.members().at(at);
  const auto on_error = [this, at, number, attempts_left, incarnation = one.incarnation](const caf::error& e) {
    const stage_roster::member& now = stages_.members().at(at);
    if (now.incarnation != incarnation || now.now == stage_roster::standing::lost) return;  // its successor opens it
    if (e == caf::sec::request_timeout && attempts_left > 0 && calls_.contains(number)) {
      return ask_to_open(at, number, attempts_left - 1);
    }
    const error cause{error_code::stage_unresponsive, "call " + std::to_string(number),
                      "a stage did not open it: " + self_->system().render(e), see_the_log};
    if (e == caf::sec::request_timeout && calls_.contains(number) && options_.provider->end(at, cause)) return;
    cancel(number, cause);
  };
  self_->request(one.actor, time_of_an_attempt(), open_ticket{calls_.at(number).ticket})
      .then(
          [this, at, number](const call_opened&) {
            calls_.acknowledge(number, at);
            load_in_order();
          },
          on_error);
}

std::chrono::nanoseconds director_state::time_of_an_attempt() const {
  return options_.request_timeout / limits::control_request_attempts;
}

void director_state::load_in_order() {
  if (!stages_.was_wired()) return;
  for (const call_number number : calls_.take_loadable(steady_now())) {
    tell(self_, loader_, open_ticket{calls_.at(number).ticket});
  }
}

void director_state::cancel(call_number number, const error& cause) {
  if (record_of(number)) return;  // a step that was decided is done, whatever comes now
  if (!calls_.cancel(number, cause)) return;
  if (options_.steps) options_.steps->cancel(number);
  // The aggregator is told first. When the loader has dropped the call it has room for others, and the ledger, which
  // has room for one window, must not hold scores of both.
  tell(self_, aggregator_, cancel_call{number, cause});
  tell(self_, loader_, cancel_call{number, cause});
  tell_stages(cancel_call{number, cause});
  load_in_order();
}

void director_state::cancel(const cancel_ticket& request) {
  if (const auto number = calls_.find(request.ticket)) cancel(*number, request.cause);
}

void director_state::cancel_open_calls(const error& cause) {
  for (const auto& [number, entry] : calls_.calls()) cancel(number, cause);
}

/// A call that is not yet loading has sent nothing that could be finished, and is cancelled. The loader ends the others
/// after what it has sent of them.
void director_state::cut() {
  for (const call_number number : calls_.cut()) {
    cancel(number, {error_code::interrupted, "director", "the run was stopped before the call began", {}});
  }
  tell(self_, loader_, cut_calls_below{calls_.cut_below()});
}

void director_state::ended(const call_completed& end) {
  if (!calls_.contains(end.tally.call)) return;  // fatal() has answered it
  if (end.tally.cause) cancel(end.tally.call, *end.tally.cause);
  tell_stages(release_call{end.tally.call});

  call_book::call entry = std::move(*calls_.close(end.tally.call));
  const std::uint64_t replays = options_.engines->loader->counters().replayed.load(std::memory_order_relaxed);
  call_outcome outcome{.tally = end.tally,
                       .step = record_of(end.tally.call),
                       .cause = std::move(entry.cause),
                       .wall = entry.started.count() == 0 ? entry.started : steady_now() - entry.started,
                       .replayed = replays - std::exchange(replays_reported_, replays),
                       .dropped_so_far = options_.ledger->duplicates_dropped()};
  if (calls_.empty()) tell_of_losses_left();
  entry.ticket->done.set_value(std::move(outcome));
  options_.reports->wake();  // the thread that waits there for reports waits for the end of the call, too
  stop_engines_if_quiet();
}

void director_state::refuse(const call_ticket_ptr& ticket, error cause, const call_tally& tally,
                            std::optional<step_record> step) {
  call_outcome outcome{.tally = tally, .step = std::move(step), .cause = {}};
  outcome.tally.cancelled = true;
  outcome.cause = std::move(cause);
  ticket->done.set_value(std::move(outcome));
  options_.reports->wake();
}

// --- the end ---------------------------------------------------------------------------------------------------------

void director_state::stop(stop_mode mode) {
  stop_asked_ = true;
  // serving -> draining: calls that are open may end; later ones are refused.
  if (mode == stop_mode::drain && phase_ == run_phase::serving) phase_ = run_phase::draining;
  if (mode == stop_mode::abort && phase_ < run_phase::aborting) {
    // serving, draining -> aborting: the results of open calls are not wanted any more.
    phase_ = run_phase::aborting;
    cancel_open_calls({error_code::interrupted, "director", "the run was stopped before the call was complete", {}});
  }
  stop_engines_if_quiet();
  end_if_all_stopped();  // after a failure the engines may have stopped long ago
}

void director_state::fatal(const error& cause) {
  const bool is_first = !failed_for_;
  if (is_first) failed_for_ = cause;
  // serving, draining -> aborting: no open call can be finished, and stages that are lost are not replaced any more.
  if (phase_ < run_phase::aborting) phase_ = run_phase::aborting;
  // A training whose state is lost between two calls may go on, and the next call is answered with this.
  bool is_told =
      cause.code == error_code::training_state_lost || (!is_first && to_string(cause) == to_string(*failed_for_));
  // The calls are answered here, since the aggregator, which ends them otherwise, may be the actor that is gone.
  for (auto& [number, entry] : calls_.close_all()) {
    tell_stages(cancel_call{number, cause});
    is_told = is_told || !entry.cause;
    // The ledger ends the call at once: the caller reads the result from now on, and nothing may be folded into it.
    const call_start& start = entry.ticket->start;
    const call_tally not_begun{.call = number, .folded = start.first(), .samples = start.samples};
    refuse(entry.ticket, entry.cause.value_or(cause), options_.ledger->abandon(number).value_or(not_begun),
           record_of(number));
  }
  if (!is_told) tell(self_, monitor_, log_record{log_level::error, to_string(cause)});
  stop_engines_if_quiet();
}

void director_state::stop_engines_if_quiet() {
  if (phase_ != run_phase::draining && phase_ != run_phase::aborting) return;
  if (!calls_.empty()) return;
  // draining, aborting -> stopping: every call is answered, and micro-batches that are still on their way belong to no
  // call. The engines drop them. To wait until they have come through could be a wait for ever: if one is lost, its
  // credit is lost, too, and lost work is noticed for open calls only.
  phase_ = run_phase::stopping;
  // Stages are told first. If the loader were, its closed edges would end the stages before they were told, and
  // `stopped` of a worker that was not told to stop counts as untrue.
  tell_stages(stop_request{stop_mode::abort});
  tell(self_, loader_, stop_request{stop_mode::abort});
  end_if_all_stopped();  // at once where no engine could be started
}

void director_state::engine_stopped(const stopped& what) {
  if (what.address == options_.engines->loader->address()) {
    loader_running_ = false;
  } else {
    static_cast<void>(stages_.stopped(what.address, what.incarnation));
  }
  end_if_all_stopped();
}

void director_state::end_if_all_stopped() {
  const bool all_stopped = phase_ == run_phase::stopping && !loader_running_ && stages_.all_gone();
  if (stop_asked_ && all_stopped) end();
}

void director_state::end() {
  // stopping -> ended: no engine runs, so the actors can go. The death of an actor is no failure from now on.
  phase_ = run_phase::ended;
  for (const auto& [at, one] : stages_.members()) self_->send_exit(one.actor, caf::exit_reason::user_shutdown);
  self_->send_exit(loader_, caf::exit_reason::user_shutdown);
  self_->send_exit(aggregator_, caf::exit_reason::user_shutdown);
  self_->send_exit(monitor_, caf::exit_reason::user_shutdown);
  if (options_.on_stopped) options_.on_stopped();
  self_->quit();
}

}  // namespace troupe
