#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "actors/call_book.hpp"
#include "actors/engine_host.hpp"
#include "actors/epoch_switch.hpp"
#include "actors/protocol.hpp"
#include "actors/report_box.hpp"
#include "actors/restart_budget.hpp"
#include "actors/stage_provider.hpp"
#include "actors/stage_roster.hpp"
#include "messages/exception_text.hpp"
#include "messages/limits.hpp"
#include "runtime/inject/fault_injector.hpp"
#include "runtime/ledger/fold_ledger.hpp"
#include "runtime/wiring/assembly.hpp"

namespace troupe {

class step_ledger;

/// What a director is given at its start. The director's children may die and be replaced; nothing of this ends with
/// them.
struct director_options {
  std::shared_ptr<assembly> engines;
  /// The ledger into which the aggregator folds. If the run fails, the director itself ends the calls there. That is
  /// safe because all actors share one thread.
  std::shared_ptr<fold_ledger> ledger;
  /// Runs the loader's engine.
  std::shared_ptr<engine_host> host;
  /// Where the stages come from.
  std::shared_ptr<stage_provider> provider;
  std::shared_ptr<report_box> reports;
  /// Decides about steps; null where the run trains nothing. Owned outside, as the ledger is.
  std::shared_ptr<step_ledger> steps = nullptr;
  /// The time for each acknowledgement of a call, over all attempts. Longer than the time after which a silent stage is
  /// replaced.
  std::chrono::nanoseconds request_timeout = limits::control_request_timeout;
  /// How often a stage may die before the run is given up.
  restart_limits restarts = {};
  /// For tests that make actors die: called for every loader actor and every aggregator that is made. May be empty.
  std::function<void(const caf::actor& child)> on_child = {};
  /// Called when the run is whole again after a loss, or when its last call ended earlier. May be empty; must not wait.
  std::function<void(const recovery_note& note)> on_recovered = {};
  /// Called once, when a stop was asked for, every engine has finished and every child was told to exit.
  std::function<void()> on_stopped;
};

/// Owns a run: it spawns and watches the other actors; it opens, cancels and ends calls; and it stops everything. A
/// drain waits for the open calls, an abort cancels them; then all engines drop what they hold.
///
///   run:   serving --stop_request--> draining or aborting --no call is open--> stopping --all have stopped--> ended
///          serving, draining --failure of the run--> aborting
///          After a failure the run stays in `stopping` until it is asked to stop.
///   edges: epoch_switch. A new epoch begins when a stage was lost, or when a stage that is not wired is ready.
///   calls: call_book
///
/// Every ticket is answered exactly once; after a failure of the run, with its cause. Calls are numbered, and loaded,
/// in the order of submission.
///
/// When a stage is lost, its next incarnation is started. As soon as every node is served again, all stages get new
/// edges: the survivors drop what they hold, and the loader sends everything again that is not folded
/// (docs/recovery.md).
class director_state {
 public:
  static inline const char* name = "director";
  explicit director_state(director_actor::pointer self) : self_(self) {}

  director_actor::behavior_type start(director_options options);

 private:
  enum class run_phase : std::uint8_t { serving, draining, aborting, stopping, ended };

  template <class Message, class F>
  [[nodiscard]] auto guarded(F handler);
  void spawn_children();
  void start_engines();
  void submit(const call_ticket_ptr& ticket);
  void open_at(stage_address at, call_number number);
  void ask_to_open(stage_address at, call_number number, std::uint32_t attempts_left);
  [[nodiscard]] std::chrono::nanoseconds time_of_an_attempt() const;
  void load_in_order();
  void cancel(call_number number, const error& cause);
  void cancel(const cancel_ticket& request);
  void cancel_open_calls(const error& cause);
  void cut();
  void ended(const call_completed& end);
  void stop(stop_mode mode);
  void fatal(const error& cause);
  void stop_engines_if_quiet();
  void engine_stopped(const stopped& what);
  void end_if_all_stopped();
  void end();

  // Steps of training (director_training.cpp).
  void count(const step_vote& vote);
  void is_folded(const call_folded& what);
  void decide(call_number number);
  void tell_decision(stage_address at);
  void commit_again();
  [[nodiscard]] micro_batch_id behind_decisions(micro_batch_id from) const;
  [[nodiscard]] std::optional<step_record> record_of(call_number number) const;

  // Start, loss and replacement of stages, edges and actors (director_recovery.cpp).
  void start_stages();
  void start_stage(stage_address at);
  void stage_is_ready(const stage_ready& ready);
  void stage_is_lost(const stage_lost& lost);
  /// False: the stage is not to be started again, because the run has failed.
  [[nodiscard]] bool may_restart(const stage_lost& lost);
  void tell_of_replacements(const std::vector<stage_address>& present, micro_batch_id from);
  void tell_of_other_losses(micro_batch_id from);
  void tell_of_losses_left();
  void edge_is_lost(const edge_lost& lost);
  void work_is_lost(const work_lost& lost);
  void make_new_edges(const error& cause);
  void start_epoch_if_needed();
  void start_epoch(const loading_paused& paused);
  [[nodiscard]] expected<std::shared_ptr<engine_wiring>> make_edges(const epoch_request& round);
  void child_died(const caf::down_msg& down);
  void spawn_aggregator();
  void spawn_loader();
  void replace_aggregator();
  void replace_loader();
  void send_all_unfolded();
  void open_at_aggregator(call_number number);
  template <class Message>
  void tell_stages(const Message& message);
  void refuse(const call_ticket_ptr& ticket, error cause, const call_tally& tally = {},
              std::optional<step_record> step = std::nullopt);

  director_actor::pointer self_;
  director_options options_;
  run_phase phase_ = run_phase::serving;
  call_book calls_;
  bool loader_running_ = false;
  bool stop_asked_ = false;
  /// Why the run failed.
  std::optional<error> failed_for_;
  stage_roster stages_;
  restart_budget budget_;
  /// A stage that is being replaced: the time of its first loss, and its newest one.
  struct loss {
    std::chrono::nanoseconds since{0};
    stage_lost newest;
    /// Micro-batches that all epochs since then have sent again. There may be several before the stage is replaced, as
    /// other replicas go on meanwhile.
    std::uint64_t sent_again = 0;
  };
  std::map<stage_address, loss> losses_;
  /// Since when the run waits for new edges because the loader's actor, the aggregator, or an edge between living
  /// stages was lost.
  std::optional<std::chrono::nanoseconds> lost_since_;
  epoch_switch epochs_;
  std::uint32_t replacements_ = 0;
  std::uint64_t replays_reported_ = 0;

  aggregator_actor aggregator_;
  monitor_actor monitor_;
  loader_actor loader_;
};

/// An exception that left a handler would end the director, and callers would wait for ever for the answers to their
/// tickets. It fails the run instead.
template <class Message, class F>
auto director_state::guarded(F handler) {
  return [this, handler](const Message& message) {
    try {
      handler(message);
    } catch (const std::exception& e) {
      fatal({error_code::internal, "director", exception_text(e), "report this with the log (stderr, or --log FILE)"});
    }
  };
}

template <class Message>
void director_state::tell_stages(const Message& message) {
  for (const auto& [at, one] : stages_.members()) {
    if (one.now != stage_roster::standing::lost) tell(self_, one.actor, message);
  }
}

director_actor::behavior_type director(director_actor::stateful_pointer<director_state> self, director_options options);

}  // namespace troupe
