#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/protocol/training_moment.hpp"

namespace troupe::testing {

/// What must never happen in a training.
enum class training_violation : std::uint8_t {
  none,
  deadlock,        ///< no step is possible, and there is work left
  weights_differ,  ///< all came to rest, and two stages have other versions of the weights
  early_forward,   ///< a forward pass of a step before the one before it is carried out there
  added_twice,     ///< a gradient was added to a sum that has it
  other_weights,   ///< a gradient of a forward pass with other weights than the stage has now
  other_replica,   ///< a gradient at a replica that has no such forward pass
  other_sum,       ///< a replica's sum was taken for that of another step
  missing_sum,     ///< a gradient was written without the sum of a tied stage
  mixed_votes,     ///< a decision without the votes of all in the present epoch
  unwritten,       ///< a decision was carried out that is not in the journal
  applied_twice,   ///< a decision changed weights that had it already
  lost_step,       ///< a decision came to a stage that has not the gradient it was made of
};

/// Ways of getting the protocol wrong, one at a time, that the exploration must notice.
enum class training_mutant : std::uint8_t {
  none,
  epoch_keeps_sum,           ///< a stage that begins a step anew keeps what it had added up
  decision_keeps_live,       ///< a stage goes on with passes that it made before the decision
  forward_before_decision,   ///< a stage that has voted takes micro-batches of the next step
  gradient_to_neighbour,     ///< a gradient goes to the next replica of the stage before
  old_votes_count,           ///< the director does not look at the epoch of a vote
  told_before_written,       ///< stages hear of a decision before the journal does
  mark_before_decision,      ///< the low-water mark passes a step when its scores are folded
  decision_is_repeated,      ///< a stage carries out a decision whenever it is told
  successor_drops_gradient,  ///< a stage that starts again forgets the finished gradient
  epoch_before_decision,     ///< an epoch begins at a mark that lags, although gradients are written again
  sums_have_no_step,         ///< a stage takes the sum of another replica without a look at its step
  tied_sum_is_left_out,      ///< a stage does not wait for the sums of the stage with which it shares weights
  tied_sums_come_in_turn,    ///< a stage sends them when it has those of the other stage
  replays_are_kept,          ///< a stage does not drop micro-batches of a step that it has carried out
};

struct training_options {
  std::uint8_t stages = 2;
  std::uint8_t replicas = 1;
  std::uint8_t micro_batches = 2;   ///< of a step, up to 4
  std::uint8_t steps = 2;           ///< up to 3, and at most 15 micro-batches in all
  std::uint8_t deaths = 0;          ///< of any copies at any moments, up to 2
  std::int8_t spare_slots = 0;      ///< of an edge for activations, beyond the live micro-batches of its stage
  std::uint8_t gradient_slots = 1;  ///< of an edge for gradients
  std::uint8_t window = 4;          ///< micro-batches that the loader may be ahead of the mark
  /// An epoch may begin at a mark from before the last decision. The director does not do that; where it did, a step
  /// that is decided could be done again, and then its finished gradient must not be written again.
  bool marks_lag = false;
  /// A step that is done again writes the finished gradient again, as trained_parameters does.
  bool writes_again = true;
  bool is_tied = false;     ///< the first stage and the last one share weights
  bool is_reduced = false;  ///< see training_model::steps
  training_mutant wrong = training_mutant::none;
};

/// "3 stages x 2, 2 micro-batches, 2 steps, 1 deaths, ..."
[[nodiscard]] std::string to_string(const training_options& options);

enum class training_action : std::uint8_t {
  load,
  forward,
  backward,
  drop,
  send_sum,
  write_gradient,
  vote,
  skip_vote,
  apply,
  begin_anew,
  read_vote,
  decide,
  write_journal,
  die,
  begin_epoch,
};

struct training_step {
  training_state next;
  training_action action = training_action::load;
  std::uint8_t copy = 0;
  /// The micro-batch, the epoch or the mark.
  std::uint8_t id = 0;
  training_violation broken = training_violation::none;
};

/// The protocol of docs/decisions/0044 and 0045 as a machine that takes one atomic step at a time. Stages hear of a new
/// epoch one after the other, in any order with decisions; votes are read at any later time; a copy dies between any
/// two steps, and while it writes its finished gradient. Replicas are lanes: the micro-batch j goes through replica
/// j mod R of every stage. Replicas of a stage, and those of two stages that share weights (docs/decisions/0047),
/// exchange sums.
///
/// Left out: calls of evaluations; calls that are cancelled; the way of a score to the aggregator (a vote comes behind
/// all scores of its stage, so that none is on its way when all votes are there); the loss of a tier, and of the
/// driver, after which the journal is compared (tests/runtime/step); stages that are two epochs behind receive nothing
/// more and send nothing, where in truth two of them may still exchange messages that have no effect.
class training_model {
 public:
  using state = training_state;
  using step = training_step;
  using violation = training_violation;

  explicit training_model(const training_options& options);

  [[nodiscard]] training_state initial() const;
  /// All that can happen next; replaces the contents of `into`.
  ///
  /// Reduced: when no copy can die any more and all are in the present epoch, the step of a copy that is not told of a
  /// decision, the loader's, or the reading of a vote is the only one. Nothing is missed: whatever the others do
  /// first, they cannot prevent or change it, as a copy alone takes from its edges, and is told of a new decision only
  /// when it has voted and has no step. (Holds for the right protocol.)
  void steps(const training_state& from, std::vector<training_step>& into) const;
  /// The violation of a state in which nothing but a death can happen.
  [[nodiscard]] training_violation at_rest(const training_state& state) const;
  [[nodiscard]] bool is_death(const training_step& step) const noexcept { return step.action == training_action::die; }
  /// "stage 1/0 forward 3"
  [[nodiscard]] std::string describe(const training_state& before, const training_step& step) const;
  [[nodiscard]] std::size_t state_size() const { return packed_size(copies_); }

 private:
  /// Where a step is made: the moment before it, and the list that it is added to.
  struct place {
    const training_moment& from;
    std::vector<training_step>& into;
  };

  void load(const place& at) const;
  void work(const place& at, std::uint8_t copy) const;
  void drop(const place& at, std::uint8_t copy) const;
  void forward(const place& at, std::uint8_t copy) const;
  void early_forward(const place& at, std::uint8_t copy) const;
  void backward(const place& at, std::uint8_t copy) const;
  void add_gradient(training_moment& next, std::uint8_t copy, training_violation& broken) const;
  void finish(const place& at, std::uint8_t copy) const;
  [[nodiscard]] bool send_tied(const place& at, std::uint8_t copy) const;
  [[nodiscard]] bool take_tied(stage_copy& one, training_violation& broken) const;
  void vote(const place& at, std::uint8_t copy) const;
  void apply(const place& at, std::uint8_t copy) const;
  void begin_anew(const place& at, std::uint8_t copy) const;
  void direct(const place& at) const;
  void read_votes(const place& at) const;
  void decide(const place& at) const;
  void deaths(const place& at) const;
  void begin_epochs(const place& at) const;
  void reduce(const place& at) const;

  void add(const place& at, const training_moment& next, training_action action, std::uint8_t copy, std::uint8_t id,
           training_violation broken = training_violation::none) const;
  void forget_work(stage_copy& copy) const;
  /// The edges that a copy uses, or nothing for one that is two epochs behind.
  [[nodiscard]] edge_set* edges_of(training_moment& moment, std::uint8_t copy) const;
  [[nodiscard]] bool has_room(const training_moment& moment, std::uint8_t from_epoch, std::uint8_t to) const;
  /// Its stage is the first one or the last one, and these share weights.
  [[nodiscard]] bool has_ties(std::uint8_t copy) const noexcept;
  [[nodiscard]] bool is_due_forward(const stage_copy& one, std::uint8_t copy) const;
  [[nodiscard]] std::uint8_t stage_of(std::uint8_t copy) const noexcept { return copy / options_.replicas; }
  [[nodiscard]] std::uint8_t lane_of(std::uint8_t copy) const noexcept { return copy % options_.replicas; }
  [[nodiscard]] bool is_last(std::uint8_t copy) const noexcept { return stage_of(copy) + 1 == options_.stages; }
  [[nodiscard]] std::uint8_t step_of(std::uint8_t id) const noexcept { return id / options_.micro_batches; }
  /// Micro-batches of a step that go through this lane.
  [[nodiscard]] std::uint8_t share_of(std::uint8_t copy) const noexcept;
  /// The id of the micro-batch with this position among those of the lane in the step.
  [[nodiscard]] std::uint8_t id_of(std::uint8_t copy, std::uint8_t step, std::uint8_t position) const noexcept;
  [[nodiscard]] std::uint8_t live_max(std::uint8_t copy) const noexcept;
  [[nodiscard]] bool is(training_mutant wrong) const noexcept { return options_.wrong == wrong; }

  training_options options_;
  std::uint8_t copies_;
};

[[nodiscard]] const char* name_of(training_violation found) noexcept;

}  // namespace troupe::testing
