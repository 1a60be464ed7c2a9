#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/limits.hpp"
#include "testing/simulation/graph.hpp"
#include "testing/simulation/history.hpp"

/// The parts and the faults of a simulated run: all follow from a seed.
namespace troupe::simulation {

enum class fault_kind : std::uint8_t {
  kill,              ///< the worker that is this replica
  kill_spare,        ///< a worker that has said hello and has no stage
  kill_starting,     ///< a worker that has not said hello
  kill_in_forward,   ///< the worker of this stage that first computes this micro-batch
  freeze,            ///< the worker that is this replica, for a time
  unlink,            ///< the link of the worker that is this replica
  lose_edge,         ///< an edge between two processes that live
  damage_edge,       ///< a bit of the next frame on an edge
  poison,            ///< every worker of this stage that computes this micro-batch
  crash_loop,        ///< every worker of this stage, as soon as it has become it
  throw_in_forward,  ///< every forward of this micro-batch at this stage throws
  start_late,        ///< the next worker to start takes so much longer
  fail_start,        ///< the next worker ends by itself before its hello
  kill_driver,       ///< the process; what it wrote is in the file, synced or not
  kill_machine,      ///< what was not synced is lost
  corrupt_journal,   ///< a bit of the file, and then the driver's process
  fill_disk,         ///< nothing more can be written from then on
  kill_actor,        ///< the loader's actor, or the aggregator (kills_aggregator)
  lose_frame,        ///< the next frame on an edge goes astray, and no end hears of the loss
  throw_once,        ///< the first forward of this micro-batch at this stage throws
  give_up,           ///< the user cancels this call
  lose_messages,     ///< control messages of this replica, either way, for a time: `index` percent of them
  double_messages,   ///< they arrive twice
  reorder_messages,  ///< they arrive behind later ones
  lose_message,      ///< the first message of the kind with the number `index` to or from this replica
  hang_start,        ///< the next `index` workers that are to become this replica live, and never do
  stop_run,          ///< the user ends all calls: `index` is a way_to_stop
  delay_frame,       ///< the next frame on an edge, and so those behind it, are late
  double_frame,      ///< the next micro-batch on an edge arrives twice
  reorder_frame,     ///< it arrives behind the one after it
};
inline constexpr std::size_t fault_kinds = 30;

enum class way_to_stop : std::uint8_t {
  drain,     ///< as the first Ctrl-C: work under way is finished
  now,       ///< as the second
  deadline,  ///< as --deadline
  abort,     ///< the whole run, as the end of a pipeline_engine
};
inline constexpr std::size_t ways_to_stop = 4;

/// "kill:stage=1.0,at=12ms"; fields that a kind has no use for are 0.
struct fault {
  fault_kind kind = fault_kind::kill;
  /// Since the start of the run.
  std::int64_t at_us = 0;
  std::int64_t for_us = 0;
  std::uint32_t stage = 0;
  std::uint32_t replica = 0;
  std::uint64_t call = 0;
  std::uint64_t index = 0;
  /// Of the edges that it may hit: their numbers in the wiring plan. Empty: any edge.
  std::vector<std::size_t> channels = {};
};

[[nodiscard]] constexpr bool kills_aggregator(const fault& actor) noexcept {
  return actor.index % 2 == 1;
}

/// A protection that is switched off in the product's code, by an option of the part that is named behind it: a run
/// that breaks its promise must be judged wrong.
enum class mutant : std::uint8_t {
  none,
  deduplication,            ///< ledger_options
  low_water_mark,           ///< ledger_options
  frame_checksums,          ///< frame_decoder
  journal_checksums,        ///< journal_reader
  credit_check,             ///< inproc_edge_factory
  poison_counter,           ///< restart_limits
  restart_budget,           ///< restart_limits
  blobs_before_orders,      ///< worker_setup, for the order to become a stage
  silence_noticed,          ///< of the simulated link, as a real one has threads and sockets
  journal_synced,           ///< journal_tail
  lost_work_noticed,        ///< lost_work_watch
  same_data_again,          ///< what a user's source promises
  messages_said_again,      ///< number_messages() is left out
  old_incarnations_fenced,  ///< worker_setup
  late_replaced,            ///< worker_setup
};
inline constexpr std::size_t mutants = 16;
[[nodiscard]] const char* name_of(mutant which) noexcept;

/// What the body of one node does wrong, and says nothing of: a judge that does not see it is worth nothing.
enum class body_harm : std::uint8_t {
  none,
  loses_a_row,         ///< the last one
  repeats_a_row,       ///< the first in place of the last, where there are two
  takes_old_parts,     ///< of its last input, those of the micro-batch before
  forgets_an_input,    ///< the last of several
  forgets_a_tied_sum,  ///< of a stage with which it shares weights
  adds_a_tied_sum_twice,
};

/// Limits and time-outs of the product, which a user or another version may set otherwise.
struct plan_limits {
  std::chrono::milliseconds silence = limits::worker_silence_timeout;
  std::chrono::milliseconds start_deadline{30'000};
  std::uint32_t deaths_without_progress = 3;
  std::uint32_t deaths_in_window = 20;
  friend bool operator==(const plan_limits&, const plan_limits&) = default;
};

struct plan {
  std::uint64_t seed = 0;
  /// Of a chain; a graph has its own.
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  /// 0: none is named.
  std::uint32_t pipe_buffers = 0;
  /// Without nodes: the chain.
  graph_plan graph = {};
  std::uint32_t slots_from_loader = 1;
  std::uint32_t slots_between = 1;
  /// Micro-batches of each call.
  std::vector<std::uint64_t> calls = {1};
  /// By call, and by sink: so many are folded before the run, as of a call that is resumed. Empty: none.
  std::vector<std::vector<std::uint64_t>> folded_before = {};
  /// That the loader takes each for, so that its window holds fewer; 0: as they are.
  std::uint64_t micro_batch_bytes = 0;
  bool is_rereadable = false;
  /// Edges can be lost while both processes live, as those over a network.
  bool loses_edges = false;
  /// The driver hands memory of each edge to the workers at its ends, as for shared memory.
  bool hands_over_edges = false;
  /// One call, whose states go to a journal.
  bool has_journal = false;
  /// A chain that trains: is_step() says which calls are steps.
  bool trains = false;
  /// Stages of a chain that trains which share a weight, ascending; none, or at least two.
  std::vector<std::uint32_t> tied = {};
  /// A forward takes so long on average.
  std::int64_t forward_us = 100;
  plan_limits most = {};
  std::vector<fault> faults = {};
  mutant broken = mutant::none;
  body_harm harm = body_harm::none;
  std::uint32_t harmed_node = 0;
  /// What the first driver does not let go.
  std::optional<leftover> kept = std::nullopt;
};

/// Of a plan that trains, every third call is an evaluation.
[[nodiscard]] inline bool is_step(const plan& what, std::uint64_t call) noexcept {
  return what.trains && call % 3 != 2;
}

/// The same with its graph, where it has none.
[[nodiscard]] plan with_graph(plan what);

/// A plan from all that there is. Even seeds: chains of 1 to 5 stages with 1 to 3 replicas; odd ones: graphs
/// (draw_graph).
[[nodiscard]] plan draw_plan(std::uint64_t seed);
/// A chain of 1 to 4 stages in 1, 2 or 4 replicas that trains: 2 to 6 steps and an evaluation after every second one,
/// with faults. Half of the seeds draw other limits.
[[nodiscard]] plan draw_training_plan(std::uint64_t seed);
/// The same size for all seeds, to measure: 3 stages, 2 replicas, 20 micro-batches, with faults.
[[nodiscard]] plan draw_standard_plan(std::uint64_t seed);
/// A large one: 50 stages, 20 replicas, with faults.
[[nodiscard]] plan draw_large_plan(std::uint64_t seed);

/// Its faults, by its seed.
void draw_disturbances(plan& made);

[[nodiscard]] std::string describe(const fault& what);
/// Several lines: the run, and each fault with its number.
[[nodiscard]] std::string describe(const plan& what);

}  // namespace troupe::simulation
