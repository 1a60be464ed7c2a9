#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "actors/aggregator.hpp"
#include "actors/director.hpp"
#include "actors/loader.hpp"
#include "messages/exception_text.hpp"
#include "messages/limits.hpp"
#include "runtime/step/step_ledger.hpp"

namespace troupe {

void director_state::start_stages() {
  stages_ = stage_roster{options_.engines->plan};
  for (const wired_instance& instance : options_.engines->plan.instances) {
    if (instance.address != options_.engines->loader->address()) start_stage(instance.address);
  }
}

void director_state::start_stage(stage_address at) {
  auto actor = options_.provider->start(self_, aggregator_, at, stages_.next_incarnation(at));
  if (actor) return stages_.start(at, std::move(*actor));
  tell(self_, director_actor{self_}, failure{at, 0, {}, std::nullopt, actor.error(), 0});
}

void director_state::stage_is_ready(const stage_ready& ready) {
  if (!stages_.ready(ready.address, ready.incarnation)) return;
  for (const auto& [number, entry] : calls_.calls()) {
    if (entry.now != call_book::phase::cancelling) open_at(ready.address, number);
  }
  tell_decision(ready.address);
  start_epoch_if_needed();
}

void director_state::stage_is_lost(const stage_lost& lost) {
  if (!stages_.lost(lost.address, lost.incarnation)) return;
  self_->send_exit(stages_.members().at(lost.address).actor, caf::exit_reason::user_shutdown);
  calls_.excuse(lost.address);
  if (phase_ >= run_phase::aborting) return end_if_all_stopped();
  log_record record{log_level::info, lost.name + " was lost and is being replaced", lost.rank,
                    options_.engines->accounts->at(lost.address).name};
  if (!may_restart(lost)) {
    record.level = log_level::warning;
    record.text = lost.name + " was lost: " + lost.cause.cause;
    return tell(self_, monitor_, std::move(record));
  }
  tell(self_, monitor_, std::move(record));
  losses_.try_emplace(lost.address, loss{.since = steady_now(), .newest = lost}).first->second.newest = lost;
  start_stage(lost.address);
  start_epoch_if_needed();
  load_in_order();
}

/// If the budget of the stage's deaths is spent, and all of them fell on one micro-batch, the call of that micro-batch
/// is given up and the stage is started again for the other calls. Otherwise the run fails.
bool director_state::may_restart(const stage_lost& lost) {
  const auto spent = budget_.note(lost, steady_now(), options_.engines->loader->low_water());
  if (!spent) return true;
  const auto suspect = budget_.suspect(lost.address);
  const bool poison =
      suspect && calls_.contains(suspect->call) && calls_.at(suspect->call).now != call_book::phase::cancelling;
  if (poison) {
    cancel(suspect->call, *spent);
    budget_.suspect_is_given_up(lost.address);
  } else {
    fatal(*spent);
  }
  return poison;
}

/// A connection between two live processes broke. News of an older epoch is ignored, as its edges have been replaced.
void director_state::edge_is_lost(const edge_lost& lost) {
  if (lost.epoch != epochs_.epoch()) return;
  make_new_edges(lost.cause);
}

/// A worker or an edge has lost work, and no part of the run noticed it. The work is sent again over new edges, as
/// after a death. The observation is ignored if results have come since, or new edges.
void director_state::work_is_lost(const work_lost& lost) {
  if (lost.waited_for != options_.engines->loader->low_water() || epochs_.is_older_than_epoch(lost.noticed)) return;
  make_new_edges({error_code::work_lost, to_string(lost.waited_for),
                  "no stage works, and its result does not come" + lost.note,
                  "report this with the log (stderr, or --log FILE); another transport may not lose it"});
}

void director_state::make_new_edges(const error& cause) {
  if (phase_ >= run_phase::aborting || epochs_.pausing() || stages_.needs_wiring()) return;
  if (!epochs_.may_follow_a_loss(options_.engines->loader->low_water())) return fatal(cause);
  tell(self_, monitor_,
       log_record{log_level::warning, cause.where + " was lost, and new edges are made: " + cause.cause});
  if (!lost_since_) lost_since_ = steady_now();
  stages_.require_wiring();
  start_epoch_if_needed();
}

void director_state::start_epoch_if_needed() {
  if (phase_ >= run_phase::aborting || epochs_.pausing() || !stages_.needs_wiring() || !stages_.can_be_wired()) return;
  tell(self_, loader_, pause_loading{epochs_.pause()});
}

void director_state::start_epoch(const loading_paused& paused) {
  if (!epochs_.paused(paused.round)) return;  // the answer to an earlier order
  // Another stage may have died meanwhile. Then the loader stays paused until its successor is ready.
  if (phase_ >= run_phase::aborting || !stages_.can_be_wired()) return;
  const auto present = stages_.wire();
  const micro_batch_id from = calls_.first_awaited(behind_decisions(paused.first));
  const epoch_number epoch = epochs_.begin(steady_now());
  if (options_.steps) options_.steps->begin_epoch(epoch);
  auto edges = make_edges({.epoch = epoch, .present = present, .from = from});
  if (!edges) return fatal(edges.error());
  tell_of_replacements(present, from);
  tell_of_other_losses(from);
  tell(self_, loader_, start_loader_epoch{std::move(*edges)});
  load_in_order();
}

/// Reports the stages that are wired again. The loader has paused, so what it has sent from `from` on is exactly what
/// it will send again.
void director_state::tell_of_replacements(const std::vector<stage_address>& present, micro_batch_id from) {
  const std::uint64_t again_now = options_.engines->loader->sent().count_from(from);
  for (auto& [at, open] : losses_) open.sent_again += again_now;
  for (const stage_address& at : present) {
    const auto found = losses_.find(at);
    if (found == losses_.end()) continue;
    const std::uint64_t again = found->second.sent_again;
    const stage_lost& lost = found->second.newest;
    const auto took = steady_now() - found->second.since;
    tell(self_, monitor_,
         log_record{
             log_level::warning,
             fmt::format("{} was replaced after {:.2f} s, {} micro-batch{} sent again: {}", lost.name,
                         std::chrono::duration<double>(took).count(), again, again == 1 ? "" : "es", lost.cause.cause),
             lost.rank, options_.engines->accounts->at(at).name});
    if (options_.on_recovered)
      options_.on_recovered({.stage = at,
                             .rank = lost.rank,
                             .took = took,
                             .sent_again = again,
                             .dropped_so_far = options_.ledger->duplicates_dropped()});
    losses_.erase(found);
  }
}

void director_state::tell_of_other_losses(micro_batch_id from) {
  if (const auto since = std::exchange(lost_since_, {}); since && options_.on_recovered) {
    options_.on_recovered({.stage = std::nullopt,
                           .rank = std::nullopt,
                           .took = steady_now() - *since,
                           .sent_again = options_.engines->loader->sent().count_from(from),
                           .dropped_so_far = options_.ledger->duplicates_dropped()});
  }
}

/// The last open call has ended before these stages were replaced. The run may end now, so they are reported here, and
/// directly into the box: the answer to the call follows, and the caller may read the reports then.
void director_state::tell_of_losses_left() {
  for (const auto& [at, left] : losses_) {
    const error& cause = left.newest.cause;
    if (options_.on_recovered) {
      options_.on_recovered({.stage = at,
                             .rank = left.newest.rank,
                             .took = steady_now() - left.since,
                             .is_whole = false,
                             .sent_again = left.sent_again,
                             .dropped_so_far = options_.ledger->duplicates_dropped()});
    }
    options_.reports->put(log_record{
        log_level::warning, left.newest.name + " was lost, and not replaced before the call ended: " + cause.cause,
        left.newest.rank, options_.engines->accounts->at(at).name});
  }
  losses_.clear();
}

expected<std::shared_ptr<engine_wiring>> director_state::make_edges(const epoch_request& round) try {
  return options_.provider->wire(round);
} catch (const std::exception& e) {
  return fail(error_code::process_failed, "director", "the edges could not be made: " + exception_text(e),
              "raise the limit that it names (ulimit -n), or use fewer stages and replicas");
}

// --- actors that die -------------------------------------------------------------------------------------------------

/// The loader's actor and the aggregator can be replaced: what they know is in objects outside them, and messages that
/// died with them are made good by a new epoch. The death of any other child is a bug, with which the run cannot go on.
void director_state::child_died(const caf::down_msg& down) {
  const bool can_be_replaced = down.source == loader_.address() || down.source == aggregator_.address();
  if ((!can_be_replaced && !stages_.is_stage_actor(down.source) && down.source != monitor_.address()) ||
      phase_ == run_phase::ended) {
    return;
  }
  const error cause{error_code::internal, "director",
                    "an actor of the run died: " + self_->system().render(down.reason),
                    "report this with the log (stderr, or --log FILE)"};
  if (!can_be_replaced || ++replacements_ > limits::deaths_in_window_max) return fatal(cause);
  tell(self_, monitor_,
       log_record{log_level::warning, "an actor of the run was replaced: " + self_->system().render(down.reason)});
  if (!lost_since_) lost_since_ = steady_now();
  down.source == loader_.address() ? replace_loader() : replace_aggregator();
  send_all_unfolded();
}

void director_state::spawn_aggregator() {
  aggregator_ = self_->spawn<caf::monitored>(aggregator, options_.ledger, options_.engines->accounts,
                                             director_actor{self_}, monitor_);
  if (options_.on_child) options_.on_child(caf::actor_cast<caf::actor>(aggregator_));
}

void director_state::spawn_loader() {
  loader_ = self_->spawn<caf::monitored>(loader, options_.engines->loader, director_actor{self_}, aggregator_);
  tell(self_, aggregator_, meet_loader{loader_});
  if (options_.on_child) options_.on_child(caf::actor_cast<caf::actor>(loader_));
}

void director_state::replace_aggregator() {
  spawn_aggregator();
  tell(self_, aggregator_, meet_loader{loader_});
  tell(self_, loader_, meet_aggregator{aggregator_});
  // Cancellations come before the stages learn of the new aggregator, and so before any score. The loader may have
  // dropped a cancelled call already and send others, and the ledger, which has room for one window, must not hold
  // both.
  for (const auto& [number, entry] : calls_.calls()) {
    if (entry.aggregator_missing) open_at_aggregator(number);
    if (entry.now == call_book::phase::cancelling) tell(self_, aggregator_, cancel_call{number, *entry.cause});
  }
  tell_stages(meet_aggregator{aggregator_});
  commit_again();
}

void director_state::replace_loader() {
  spawn_loader();
  loader_engine& engine = *options_.engines->loader;
  loader_command::retain_calls open;
  for (const auto& [number, entry] : calls_.calls()) {
    if (entry.now == call_book::phase::loading) open.calls.push_back(number);
  }
  if (!engine.command(loader_command::listen{report_to(loader_, engine)}) || !engine.command(open)) {
    return fatal(queue_full_failure(engine).cause);
  }
  for (const call_number number : open.calls) tell(self_, loader_, open_ticket{calls_.at(number).ticket});
  tell(self_, loader_, cut_calls_below{calls_.cut_below()});
  epochs_.give_up();
  if (!engine.finished()) return;
  loader_running_ = false;
  end_if_all_stopped();
}

void director_state::send_all_unfolded() {
  if (phase_ == run_phase::ended) return;
  if (phase_ == run_phase::stopping) return tell(self_, loader_, stop_request{stop_mode::abort});
  stages_.require_wiring();
  start_epoch_if_needed();
}

}  // namespace troupe
