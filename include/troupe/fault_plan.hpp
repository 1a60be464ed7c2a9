#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe {

/// What happens to its target. docs/faults.md has the targets, triggers and parameters of each kind.
enum class fault_kind : std::uint8_t {
  kill,           ///< ends at once: SIGKILL for a process, the end of its actor for loader and aggregator
  stop,           ///< freezes: SIGSTOP, and SIGCONT after `lasts`
  exit,           ///< leaves by itself in the middle of a forward
  throw_error,    ///< "throw": an exception out of a forward
  delay,          ///< messages arrive later
  drop,           ///< messages do not arrive
  duplicate,      ///< messages arrive twice
  reorder,        ///< a message arrives behind the next one
  corrupt,        ///< a bit of a message changes
  truncate,       ///< a message ends early
  partition,      ///< nothing passes
  half_open,      ///< a connection carries nothing one way, not even signs of life
  close,          ///< a connection is closed, both ways or one way
  slow,           ///< a forward takes longer
  disk_full,      ///< writes fail with ENOSPC
  out_of_memory,  ///< an allocation in a forward fails
};

enum class fault_target_kind : std::uint8_t {
  stage,
  edge,
  control,  ///< messages between the driver and a stage
  loader,
  aggregator,
  worker,
  agent,
  node,
  driver,
  journal,
};

/// What a fault hits. A stage is named as in results; the dot in "net.2" stands for the space in "net 2". "2" is the
/// third stage where no stage has that name.
struct fault_target {
  fault_target_kind kind = fault_target_kind::stage;
  /// The stage, agent or node; the producer of an edge.
  std::string name = {};
  /// The consumer of an edge.
  std::string to = {};
  /// The replica of the stage. Nothing: any replica.
  std::optional<replica_index> replica = std::nullopt;
  /// The rank of the worker.
  std::uint32_t rank = 0;

  static fault_target stage(std::string name, std::optional<replica_index> replica = std::nullopt);
  static fault_target edge(std::string from, std::string to);
  static fault_target control(std::string stage);
  static fault_target worker(std::uint32_t rank);
  static fault_target agent(std::string node);
  static fault_target node(std::string name);
  static fault_target loader() { return {.kind = fault_target_kind::loader}; }
  static fault_target aggregator() { return {.kind = fault_target_kind::aggregator}; }
  static fault_target driver() { return {.kind = fault_target_kind::driver}; }
  static fault_target journal() { return {.kind = fault_target_kind::journal}; }

  friend bool operator==(const fault_target&, const fault_target&) = default;
};

enum class fault_trigger_kind : std::uint8_t {
  always,       ///< every message, every forward
  micro_batch,  ///< once, at the first micro-batch of that index
  message,      ///< once, at that message of an edge or of a link, counted from 1
  time,         ///< once, so long after the first micro-batch was sent; what lasts begins then
  probability,  ///< at each message or micro-batch, drawn with a seed
  // Once, in a step of a training:
  backward,  ///< at the first backward pass of a micro-batch of that index
  vote,      ///< when a stage has its gradient and has not said so; for loader, aggregator and driver before a decision
  decision,  ///< when a stage has heard of the decision; for loader, aggregator and driver when it is in the journal
  apply,     ///< while a stage carries the decision out
  recovery,  ///< when a stage begins a step anew after a loss
};

struct fault_trigger {
  fault_trigger_kind kind = fault_trigger_kind::always;
  /// Index of the micro-batch, or number of the message.
  std::uint64_t number = 0;
  /// The moment of `time`, since the first micro-batch was sent.
  std::chrono::nanoseconds after{0};
  /// Above 0, at most 1.
  double probability = 0;
  std::uint64_t seed = 0;
  /// The number of the step of a training, for micro_batch and the moments of a step. Nothing: any step.
  std::optional<std::uint64_t> step = std::nullopt;

  static fault_trigger always() { return {}; }
  static fault_trigger micro_batch(std::uint64_t index) { return {fault_trigger_kind::micro_batch, index}; }
  static fault_trigger message(std::uint64_t number) { return {fault_trigger_kind::message, number}; }
  static fault_trigger time(std::chrono::nanoseconds after) { return {fault_trigger_kind::time, 0, after}; }
  static fault_trigger probability_of(double share, std::uint64_t seed = 0) {
    return {fault_trigger_kind::probability, 0, {}, share, seed};
  }
  /// `moment`: micro_batch, backward, vote, decision, apply or recovery; `index`: of the micro-batch, for the first
  /// two.
  static fault_trigger in_step(fault_trigger_kind moment, std::uint64_t step, std::uint64_t index = 0) {
    return {.kind = moment, .number = index, .step = step};
  }

  friend bool operator==(const fault_trigger&, const fault_trigger&) = default;
};

/// forward: on an edge from its producer to its consumer, of control messages from the driver to the stage; back: the
/// other way.
enum class fault_direction : std::uint8_t { forward, back };

/// One fault. Parameters that its kind does not take must be empty.
struct fault {
  fault_kind kind = fault_kind::kill;
  fault_target who = {};
  fault_trigger when = {};
  /// "for". Nothing: for ever.
  std::optional<std::chrono::nanoseconds> lasts = std::nullopt;
  /// "ms": of one delay.
  std::optional<std::chrono::nanoseconds> delay = std::nullopt;
  /// "jitter": the greatest addition to `delay`.
  std::optional<std::chrono::nanoseconds> jitter = std::nullopt;
  /// "bytes": the size of an allocation, or what still fits on a disk.
  std::optional<std::uint64_t> bytes = std::nullopt;
  /// "direction": the way that a connection loses. Nothing: both.
  std::optional<fault_direction> direction = std::nullopt;

  friend bool operator==(const fault&, const fault&) = default;
};

/// As --fault spells it: "stop:worker=3,at=2.5s,for=4s". parse_fault() gives an equal fault.
std::string to_string(const fault& one);
/// At once: the fault, or E0109, whose place has the column, counted from 1.
expected<fault> parse_fault(std::string_view text);

/// "kill", "throw"; "stage", "control".
std::string_view fault_name(fault_kind kind);
std::string_view fault_target_name(fault_target_kind kind);

/// Faults that a run injects into itself, in the order of addition, which is that of run_result::faults. A value
/// without threads of its own, as are all functions here. It goes into run_options::faults; the start of the run
/// reports what check() and check_fits() find.
///
///   troupe::fault_plan{}
///       .add({troupe::fault_kind::kill, troupe::fault_target::stage("net.2"), troupe::fault_trigger::micro_batch(17)})
///       .add("stop:worker=3,at=2.5s,for=4s")
///
class fault_plan {
 public:
  /// Never fails: check() reports a fault that cannot be, and a text that cannot be read.
  fault_plan& add(fault one);
  fault_plan& add(std::string_view text);
  /// Where each fault was written, in their order: "run.toml:4:1", "--fault". Errors that concern it begin with that.
  fault_plan& written_at(std::vector<std::string> places);

  /// The first mistake of add(), or more than limits::faults_max faults: E0109.
  [[nodiscard]] expected<void> check() const;

  [[nodiscard]] const std::vector<fault>& faults() const noexcept { return faults_; }
  [[nodiscard]] bool empty() const noexcept { return faults_.empty() && mistakes_.empty(); }
  /// to_string() of each.
  [[nodiscard]] std::vector<std::string> texts() const;
  /// The place of one fault, for error::where: 'run.toml:4:1: fault "kill:stage=net.1,at=mb17"'.
  [[nodiscard]] std::string where(std::size_t number) const;

  friend bool operator==(const fault_plan& a, const fault_plan& b) { return a.faults_ == b.faults_; }

 private:
  std::vector<fault> faults_;
  /// Places of the first faults; those of the others are not known.
  std::vector<std::string> places_;
  std::vector<error> mistakes_;
};

/// What a plan can name in a run. A run makes its own. For random_plan() or check_fits() a program fills it in by hand:
/// from the topology that it builds, or from run_result::stages and micro_batches of an undisturbed run.
struct fault_shape {
  struct node {
    std::string name;
    std::uint32_t replicas = 1;
    /// Its replicas are worker processes.
    bool in_process = false;
  };
  /// One of the nodes of a launch.
  struct place {
    std::string name;
    /// The driver lives there, and no agent.
    bool has_driver = false;
    /// The others have slots for its stages.
    bool may_be_lost = false;
  };
  /// In the order of the stages' numbers.
  std::vector<node> stages = {};
  /// Producer and consumer, with the source as a producer.
  std::vector<std::pair<std::string, std::string>> edges = {};
  /// Worker processes at the start, spares included.
  std::uint32_t workers = 0;
  bool has_journal = false;
  /// 0: not known. Of a training, those of a step.
  std::uint64_t micro_batches = 0;
  /// It is a training, with so many steps; 0: not known.
  bool trains = false;
  std::uint64_t steps = 0;
  /// Empty without a launch.
  std::vector<place> places = {};
};

/// E0109: the run has no such stage, replica, edge, rank, node, step or journal, or no process that could be killed.
expected<void> check_fits(const fault_plan& plan, const fault_shape& shape);

/// One to `most` faults that leave the bits of a run of this shape as they are. The same arguments give the same plan.
/// Faults of the driver and of the journal, which end a run, are not among them.
fault_plan random_plan(std::uint64_t seed, const fault_shape& shape, std::size_t most = 4);

/// A smaller plan that still fails: without the faults that it can do without, and with earlier and simpler ones where
/// that is enough. `fails` runs a plan and says whether it fails, as `plan` itself has; it should say the same each
/// time, and is asked at most limits::shrink_runs_max times, on the thread of the caller and before shrink() returns.
fault_plan shrink(const fault_plan& plan, const std::function<bool(const fault_plan&)>& fails);

}  // namespace troupe
