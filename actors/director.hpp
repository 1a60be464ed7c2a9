#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <troupe/actors/engine_host.hpp>
#include <troupe/actors/protocol.hpp>
#include <troupe/actors/report_box.hpp>
#include <troupe/runtime/engine/assembly.hpp>
#include <troupe/runtime/engine/fold_ledger.hpp>

namespace troupe {

/// What a director directs. Everything in it is owned outside the actors and outlives them.
struct director_plan {
  std::shared_ptr<assembly> engines;
  std::shared_ptr<fold_ledger> ledger;
  std::shared_ptr<engine_host> host;
  std::shared_ptr<report_box> reports;
  /// Called once, when every engine has finished and every child was told to exit.
  std::function<void()> on_stopped;
};

/// Owns a run: spawns and watches the faces, the aggregator and the monitor; opens, cancels and ends calls; stops all.
///
///   run:   serving --stop_request--> draining | aborting --no open call--> stopping --all engines stopped--> (quit)
///   call:  opening --all acknowledged--> loading --ended--> (answered)
///          opening | loading --failure, cancel, abort--> cancelling --ended--> (answered)
///
/// Every ticket is answered exactly once. Calls are numbered, and loaded, in the order of submission.
class director_state {
 public:
  static inline const char* name = "director";
  explicit director_state(director_actor::pointer self) : self_(self) {}

  director_actor::behavior_type start(director_plan plan);

 private:
  enum class run_phase : std::uint8_t { serving, draining, aborting, stopping };
  enum class call_phase : std::uint8_t { opening, opened, loading, cancelling };
  struct call {
    call_ticket_ptr ticket;
    call_phase phase = call_phase::opening;
    std::size_t missing = 0;
    std::optional<error> cause;
    std::chrono::nanoseconds started{0};
  };

  void spawn_children();
  void start_engine(const std::shared_ptr<engine>& engine);
  void submit(const call_ticket_ptr& ticket);
  void opened(call_number number);
  void stage_is_ready();
  void load_in_order();
  void cancel(call_number number, const error& cause);
  void cancel(const cancel_ticket& request);
  void cancel_open_calls(const error& cause);
  void ended(const call_ended& end);
  void stop(stop_mode mode);
  void fatal(const error& cause);
  void stop_engines_if_quiet();
  void engine_stopped();
  void end();
  static void refuse(const call_ticket_ptr& ticket, error cause);

  director_actor::pointer self_;
  director_plan plan_;
  run_phase phase_ = run_phase::serving;
  std::map<call_number, call> calls_;
  call_number next_number_ = 0;
  call_number next_to_load_ = 0;
  std::size_t engines_running_ = 0;
  std::size_t stages_starting_ = 0;
  std::uint64_t replays_reported_ = 0;

  aggregator_actor aggregator_;
  monitor_actor monitor_;
  loader_actor loader_;
  std::vector<stage_actor> stages_;
};

director_actor::behavior_type director(director_actor::stateful_pointer<director_state> self, director_plan plan);

}  // namespace troupe
