// Engines that train, with the loader and the one who decides, in one thread: a seed chooses who makes the next step,
// and how late each engine hears each command.
#pragma once

#include <deque>
#include <set>

#include "hash_training.hpp"
#include "runtime/edge/inproc/inproc_edge.hpp"
#include "runtime/flow/training_stage_engine.hpp"

namespace troupe::testing {

struct training_setup {
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  std::vector<planned_call> calls = {};
  std::uint64_t seed = 1;
  /// Of the edges between stages; nothing: as many as the stage may have live micro-batches.
  std::optional<std::uint32_t> slots = std::nullopt;
  std::uint32_t gradient_slots = 2;
  /// Stages that share weights.
  std::vector<stage_index> tied = {};
  bool is_traced = false;
};

class training_pipeline {
 public:
  struct node {
    stage_address address;
    std::shared_ptr<stage_memory> memory = std::make_shared<stage_memory>();
    std::shared_ptr<hash_training_body> body;
    std::unique_ptr<training_stage_engine> engine;
    /// Told and not heard yet.
    std::deque<stage_command_t> told;
    call_number opened = 0;
    bool is_alive = true;
    bool has_finished = false;
    /// Of 8 turns, so many are let pass.
    unsigned laziness = 0;
  };

  explicit training_pipeline(training_setup setup);

  /// Until every call is over or nothing can move any more. Says whether all are over.
  bool run() {
    return run_until([] { return false; });
  }
  /// The same, or until `reached` says so after a turn; then false.
  bool run_until(const std::function<bool()>& reached);
  /// Tells all engines to stop, and runs until they have finished. False: some have not.
  bool stop();

  /// The engine makes no step any more, and its edges are silent.
  void kill(stage_address who) { at(who).is_alive = false; }
  /// Engines that are dead begin anew in the memory of those before, and all edges are made again. `lag`: the loader
  /// has not heard of the newest decision.
  void start_epoch(bool lag = false);
  /// Has no effect on a call that is over.
  void cancel(call_number call);
  [[nodiscard]] const std::set<call_number>& cancelled() const noexcept { return cancelled_; }

  [[nodiscard]] training_outcome outcome() const;
  [[nodiscard]] node& at(stage_address who) { return nodes_.at(who.stage * setup_.replicas + who.replica); }
  [[nodiscard]] std::vector<node>& nodes() noexcept { return nodes_; }
  [[nodiscard]] std::uint64_t turns() const noexcept { return turns_; }
  /// Slots of the edges into stage 0 that are free.
  [[nodiscard]] bool has_all_slots_back() const;
  [[nodiscard]] const std::vector<step_vote>& votes() const noexcept { return votes_; }

  /// A failure cancels its call, as the director does.
  std::vector<failure> failures;

 private:
  void build(node& each);
  void tell(const stage_command_t& command);
  void open_next();
  void take_scores(const std::vector<score>& batch);
  void take_vote(const step_vote& vote);
  bool decide_if_complete();
  void end_call();
  bool move(std::size_t actor, bool is_sweep);
  bool load();
  void hear(node& who);
  [[nodiscard]] edge_ends edge(std::uint32_t slots);
  [[nodiscard]] bool are_peers(stage_index one, stage_index other) const;
  void wire(std::vector<std::shared_ptr<engine_wiring>>& wirings);
  [[nodiscard]] stage_command::open_call open_of(call_number call, const node& at) const;
  std::uint64_t draw(std::uint64_t below) { return (drawn_ = mix(drawn_, 1)) % below; }

  training_setup setup_;
  word drawn_;
  std::chrono::nanoseconds now_{0};
  trace_clock clock_;
  std::vector<node> nodes_;
  std::vector<std::unique_ptr<training_stage_engine>> dead_;
  inproc_edge_factory edges_;
  std::vector<std::unique_ptr<edge_producer>> to_first_;

  // The loader.
  micro_batch_id next_;
  // The one who decides.
  epoch_number epoch_ = 0;
  call_number current_ = 0;
  call_number opened_ = 0;
  std::set<call_number> cancelled_;
  std::uint64_t steps_ = 0;
  std::optional<step_decision> newest_;
  std::map<micro_batch_id, std::optional<word>> scores_;
  /// By call, as a step may be voted for while the evaluation before it is still being scored.
  std::map<call_number, std::map<stage_address, step_vote>> votes_by_call_;
  std::vector<step_vote> votes_;
  std::uint64_t turns_ = 0;
};

}  // namespace troupe::testing
