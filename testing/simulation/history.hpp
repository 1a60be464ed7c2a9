#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// What was seen of a simulated run, from outside of the code under test: plain numbers, so that a judge needs nothing
/// of the runtime.
namespace troupe::simulation {

/// What a driver may leave behind it.
enum class leftover : std::uint8_t {
  engine,
  process,  ///< a worker, as the driver has it
  page,     ///< of an engine
  link,     ///< either end
  edge,     ///< an end in a process that lives
  timer,    ///< that waits when the last engine has stopped
  journal,  ///< its file, as the driver has it
};
inline constexpr std::size_t leftovers = 7;

enum class happening : std::uint8_t {
  driver_started,  ///< value: micro-batches that its journal gave back; other: greatest window of the loader
  driver_died,     ///< value: 1 if the machine died with it
  left,            ///< index: a leftover; value: how many
  driver_ended,    ///< value: actors left
  submitted,       ///< call
  answered,        ///< call; value: error code, 0 for none; other: micro-batches folded; index: samples
  labelled,        ///< call; value: 1 if its result is called partial; other: micro-batches called lost
  given_up,        ///< call: the user cancelled it; value: error code of his reason
  cut,             ///< the user wants no more than the work under way
  named,           ///< call, index: the micro-batch that the answer's error names
  blamed,          ///< call; value: hash of the answer's error; worker: whose end it tells, 0 for none
  recovered,       ///< call, index, value: a state read back from the journal; stage: the sink
  folded,          ///< call, index, value, other: samples; incarnation of the sender; stage: the sink
  decided,       ///< call, a step; index: its number; value, other: bits of factor and rate; stage: 1 if it is applied
  acknowledged,  ///< call: the result was given out, as all states are on the disk
  journal_hurt,  ///< one of its bits was changed
  disk_filled,   ///< nothing more can be written
  journal_refused,  ///< it was found damaged, and another one begun
  worker_started,   ///< worker
  worker_ended,     ///< worker; value: exit_cause; stage, replica, incarnation if it had become one; other: 1 if it
                    ///< ended in a forward, of call, index
  end_told,         ///< worker: the driver was told its end
  blob_arrived,     ///< worker, value: hash of its tag
  given,            ///< worker, stage, replica: the driver told it to become this
  said_ready,       ///< worker: it was heard that it has become its stage
  order_taken,      ///< worker, value: hash of a tag that the order speaks of
  became_stage,     ///< worker, stage, replica, incarnation
  wired,            ///< worker, epoch; value: micro-batches sent from
  edge_made,        ///< epoch, value: number of the edge; other: slots; index: channel
  edge_sent,        ///< epoch, value: number of the edge, call, index
  edge_taken,       ///< worker, epoch, value: number of the edge, call, index
  edge_freed,       ///< value: number of the edge
  edge_lost,        ///< epoch, value: number of the edge
  edge_damaged,     ///< epoch, value: number of the edge
  forwarded,        ///< worker, stage, replica, incarnation, call, index, value: what came out; other: samples in it
  forward_threw,    ///< worker, stage, call, index; value: 1 if it will not again
  code_threw,       ///< worker, stage, call, index: of itself, and not for a fault
  frozen,           ///< worker
  thawed,           ///< worker
  said,             ///< worker: a batch of scores was heard; value: scores in it
  healed,           ///< no fault comes after it
  stuck,            ///< the run did not end within its bounds
};

enum class exit_cause : std::uint8_t { killed, shot_by_driver, by_itself, poisoned, at_the_end };

struct event {
  std::int64_t at_ns = 0;
  happening what = happening::healed;
  std::uint32_t driver = 0;
  std::uint32_t worker = 0;
  std::uint32_t stage = 0;
  std::uint32_t replica = 0;
  std::uint32_t incarnation = 0;
  std::uint64_t epoch = 0;
  std::uint64_t call = 0;
  std::uint64_t index = 0;
  std::uint64_t value = 0;
  std::uint64_t other = 0;
};

using history = std::vector<event>;

}  // namespace troupe::simulation
