#include <utility>

#include <troupe/actors/aggregator.hpp>
#include <troupe/actors/director.hpp>
#include <troupe/actors/loader.hpp>
#include <troupe/actors/monitor.hpp>
#include <troupe/actors/stage.hpp>
#include <troupe/messages/check.hpp>
#include <troupe/messages/limits.hpp>

namespace troupe {

director_actor::behavior_type director(director_actor::stateful_pointer<director_state> self, director_plan plan) {
  return self->state.start(std::move(plan));
}

director_actor::behavior_type director_state::start(director_plan plan) {
  plan_ = std::move(plan);
  spawn_children();
  return {
      [this](const open_call& open) { submit(open.ticket); },
      [this](const cancel_ticket& request) { cancel(request); },
      [this](const cut_calls& cut) { tell(self_, loader_, cut); },
      [this](const stop_request& request) { stop(request.mode); },
      [this](const stage_ready&) { stage_is_ready(); },
      [this](const failure& what) {
        what.micro_batch ? cancel(what.micro_batch->call, what.cause) : fatal(what.cause);
      },
      [this](const call_ended& end) { ended(end); },
      [this](const stopped&) { engine_stopped(); },
  };
}

void director_state::spawn_children() {
  // Nobody of the children ends by itself: one that does has met a bug, and the run cannot go on without it.
  self_->set_down_handler([this](const caf::down_msg& down) {
    if (phase_ == run_phase::stopping && engines_running_ == 0) return;
    fatal({error_code::internal, "director", "an actor of the run died: " + self_->system().render(down.reason),
           "report this with the log"});
  });
  const director_actor me{self_};
  monitor_ = self_->spawn<caf::monitored>(monitor, plan_.reports);
  aggregator_ = self_->spawn<caf::monitored>(aggregator, plan_.ledger, me, monitor_);
  loader_ = self_->spawn<caf::monitored>(loader, plan_.engines->loader, me, aggregator_);
  tell(self_, aggregator_, meet_loader{loader_});
  for (const auto& engine : plan_.engines->stages) {
    stages_.push_back(self_->spawn<caf::monitored>(stage, engine, me, aggregator_));
    engine->listen(report_to(stages_.back(), *engine));
  }
  plan_.engines->loader->listen(report_to(loader_, *plan_.engines->loader));
  stages_starting_ = plan_.engines->stages.size();
  for (const auto& engine : plan_.engines->stages) start_engine(engine);
  start_engine(plan_.engines->loader);
}

void director_state::start_engine(const std::shared_ptr<engine>& engine) {
  auto started = plan_.host->start(engine);
  if (started) {
    ++engines_running_;
  } else {
    tell(self_, director_actor{self_}, failure{{}, 0, engine->name(), std::nullopt, started.error(), 0});
  }
}

// --- calls -----------------------------------------------------------------------------------------------------------

void director_state::submit(const call_ticket_ptr& ticket) {
  if (phase_ != run_phase::serving) {
    return refuse(ticket, {error_code::engine_stopped, "director", "the run is stopping", "start a new run"});
  }
  if (calls_.size() >= limits::calls_queued_max) {
    return refuse(ticket, {error_code::queue_full, "director",
                           std::to_string(limits::calls_queued_max) + " calls are open already",
                           "wait for one of them before the next"});
  }
  const call_number number = next_number_++;
  ticket->number = number;
  call& entry = calls_[number];
  entry.ticket = ticket;
  entry.missing = 1 + stages_.size();
  auto on_opened = [this, number](const call_opened&) { opened(number); };
  auto on_error = [this, number](const caf::error& e) {
    cancel(number, {error_code::stage_unresponsive, "call " + std::to_string(number),
                    "an actor did not open the call: " + self_->system().render(e), "see the log for its end"});
  };
  self_->request(aggregator_, limits::control_request_timeout, open_call{ticket}).then(on_opened, on_error);
  for (const auto& each : stages_) {
    self_->request(each, limits::control_request_timeout, open_call{ticket}).then(on_opened, on_error);
  }
}

void director_state::opened(call_number number) {
  const auto found = calls_.find(number);
  if (found == calls_.end() || found->second.phase != call_phase::opening) return;
  if (--found->second.missing > 0) return;
  found->second.phase = call_phase::opened;
  load_in_order();
}

void director_state::stage_is_ready() {
  TROUPE_CHECK(stages_starting_ > 0, "a stage gets ready once");
  --stages_starting_;
  load_in_order();
}

/// Acknowledgements of several calls may cross; the loader gets the calls in order all the same.
void director_state::load_in_order() {
  if (stages_starting_ > 0) return;
  for (; next_to_load_ < next_number_; ++next_to_load_) {
    const auto found = calls_.find(next_to_load_);
    if (found == calls_.end() || found->second.phase == call_phase::cancelling) continue;
    if (found->second.phase == call_phase::opening) return;
    found->second.phase = call_phase::loading;
    found->second.started = steady_now();
    tell(self_, loader_, open_call{found->second.ticket});
  }
}

void director_state::cancel(call_number number, const error& cause) {
  const auto found = calls_.find(number);
  if (found == calls_.end() || found->second.phase == call_phase::cancelling) return;  // the first cause stays
  found->second.phase = call_phase::cancelling;
  found->second.cause = cause;
  // The aggregator first: once the loader forgets the call it sends others, and the ledger must not hold both.
  tell(self_, aggregator_, cancel_call{number, cause});
  tell(self_, loader_, cancel_call{number, cause});
  for (const auto& each : stages_) tell(self_, each, cancel_call{number, cause});
  load_in_order();
}

void director_state::cancel(const cancel_ticket& request) {
  for (const auto& [number, entry] : calls_) {
    if (entry.ticket == request.ticket) return cancel(number, request.cause);
  }
}

void director_state::cancel_open_calls(const error& cause) {
  for (const auto& [number, entry] : calls_) cancel(number, cause);
}

void director_state::ended(const call_ended& end) {
  const auto found = calls_.find(end.tally.call);
  if (found == calls_.end()) return;  // answered by fatal()
  if (end.tally.cause) cancel(end.tally.call, *end.tally.cause);
  for (const auto& each : stages_) tell(self_, each, end_call{end.tally.call});

  call entry = std::move(found->second);
  calls_.erase(found);
  const std::uint64_t replays = plan_.engines->loader->counters().replayed.load(std::memory_order_relaxed);
  call_outcome outcome{.tally = end.tally,
                       .cause = std::move(entry.cause),
                       .wall = entry.started.count() == 0 ? entry.started : steady_now() - entry.started,
                       .replayed = replays - std::exchange(replays_reported_, replays)};
  entry.ticket->done.set_value(std::move(outcome));
  plan_.reports->wake();  // whoever waits for reports waits for this
  stop_engines_if_quiet();
}

void director_state::refuse(const call_ticket_ptr& ticket, error cause) {
  call_outcome outcome;
  outcome.tally.cancelled = true;
  outcome.cause = std::move(cause);
  ticket->done.set_value(std::move(outcome));
}

// --- the end ---------------------------------------------------------------------------------------------------------

void director_state::stop(stop_mode mode) {
  if (mode == stop_mode::drain && phase_ == run_phase::serving) phase_ = run_phase::draining;
  if (mode == stop_mode::abort && phase_ < run_phase::aborting) {
    phase_ = run_phase::aborting;
    cancel_open_calls({error_code::interrupted, "director", "the run was stopped before the call was complete", {}});
  }
  stop_engines_if_quiet();
}

void director_state::fatal(const error& cause) {
  tell(self_, monitor_, log_line{to_string(cause)});
  if (phase_ < run_phase::aborting) phase_ = run_phase::aborting;
  // Answered here, since the actor that ends calls may be the one that is gone.
  for (auto& [number, entry] : std::exchange(calls_, {})) {
    for (const auto& each : stages_) tell(self_, each, cancel_call{number, cause});
    refuse(entry.ticket, entry.cause.value_or(cause));
  }
  stop_engines_if_quiet();
}

void director_state::stop_engines_if_quiet() {
  if (phase_ != run_phase::draining && phase_ != run_phase::aborting) return;
  if (!calls_.empty()) return;
  const stop_mode mode = phase_ == run_phase::draining ? stop_mode::drain : stop_mode::abort;
  phase_ = run_phase::stopping;
  tell(self_, loader_, stop_request{mode});
  for (const auto& each : stages_) tell(self_, each, stop_request{mode});
  if (engines_running_ == 0) end();  // none could be started
}

void director_state::engine_stopped() {
  TROUPE_CHECK(engines_running_ > 0, "an engine finishes once");
  --engines_running_;
  if (engines_running_ == 0) end();
}

void director_state::end() {
  for (const auto& each : stages_) self_->send_exit(each, caf::exit_reason::user_shutdown);
  self_->send_exit(loader_, caf::exit_reason::user_shutdown);
  self_->send_exit(aggregator_, caf::exit_reason::user_shutdown);
  self_->send_exit(monitor_, caf::exit_reason::user_shutdown);
  if (plan_.on_stopped) plan_.on_stopped();
  self_->quit();
}

}  // namespace troupe
