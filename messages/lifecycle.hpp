#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <troupe/error.hpp>
#include <troupe/ids.hpp>

/// The messages of a run's control plane, as plain values. Each comment says who sends the message to whom; the types
/// do not enforce it. A request is answered within limits::control_request_timeout; else it fails with E0609. A message
/// marked "no reply" may be sent again, and has no effect then.
namespace troupe {

/// stage -> director, when the engine has started and can take edges. No reply. Until all stages of a run have sent it,
/// the director makes no edges and loads nothing. A stage that cannot get ready sends `failure` instead.
struct stage_ready {
  stage_address address;
  incarnation_number incarnation = 0;
};

/// watcher of a stage -> director: this incarnation has ended, with all its work. No reply. The director starts the
/// next one, or ends the run with the cause.
struct stage_lost {
  stage_address address;
  incarnation_number incarnation = 0;
  /// How it ended: signal or exit status, and its last words.
  error cause;
  /// The micro-batch it worked on; nothing if it worked on none, or that is not known.
  std::optional<micro_batch_id> working_on;
  /// Number of its worker process, for the log.
  std::optional<std::uint32_t> rank = std::nullopt;
  /// Stage, layers where they are known, and process, for the log: "stage 1 (5 Conv2d … 14 LogSoftmax, process 9066)".
  std::string name = {};
};

/// director -> loader, when the edges no longer fit the stages that live: the loader sends nothing more. Reply:
/// loading_paused. May be repeated.
struct pause_loading {
  /// The reply has the same number: only the answer to the last order counts.
  epoch_number round = 0;
};

/// loader -> director: names the first micro-batch that will be sent over new edges. All before are folded or given up.
struct loading_paused {
  micro_batch_id first;
  epoch_number round = 0;
};

/// The content of a call's scores.
enum class score_content : std::uint8_t {
  metrics = 0,           ///< the states of each sink's metrics
  loss = 1,              ///< at the first sink the parts of the loss, nothing at others
  outputs = 2,           ///< at the first sink the outputs, nothing at others
  loss_and_outputs = 3,  ///< both of them
  step_loss = 4,         ///< at the first sink the sum and weight of a training step's loss, nothing at others
};

/// How a stage in a worker process makes the scorers of a call.
struct scoring {
  score_content content = score_content::metrics;
  /// Classes of the data set, for metrics by name.
  std::uint32_t classes = 0;
  /// Names of the first sink's metrics in this call; nothing: those of the run's description.
  std::optional<std::vector<std::string>> metrics = std::nullopt;
};

/// director -> aggregator, stages, loader, in this order, so that the receiver of a micro-batch knows its
/// call. Reply: an acknowledgement; the loader then loads. Calls begin in the order of their numbers and may overlap in
/// the pipe. The call's source and scorers go beside it as handles inside one process. On failure the director cancels
/// the call.
struct open_call {
  call_number call = 0;
  /// Index of its first micro-batch: above 0 where the call is resumed.
  std::uint64_t first = 0;
  scoring scores = {};
  /// A step of training.
  bool trains = false;
};

/// director -> stages, after a call was completed or cancelled: its scorers may go. No reply. For an unknown or
/// cleaned-up call it has no effect.
struct release_call {
  call_number call = 0;
};

/// director -> aggregator, loader, stages, in this order: this call's micro-batches are dropped wherever they are, and
/// their slots released; the low-water mark jumps to the next call. No reply. The first cause stays; a second
/// cancellation has no effect.
struct cancel_call {
  call_number call = 0;
  error cause;
};

/// aggregator -> loader: everything below `mark` is folded (or cancelled), so that the loader may forget it and run
/// ahead to mark + window. No reply. Never falls within an epoch; a receiver keeps the greatest.
struct low_water {
  micro_batch_id mark;
};

enum class stop_mode : std::uint8_t {
  drain = 0,  ///< the open calls are worked off first; of the director alone
  abort = 1,  ///< drop unfinished work; a forward in progress is waited for, as nothing can interrupt it
};

/// -> director: `abort` may follow `drain`, never the other way round. director -> loader and stages, when no call is
/// open: `abort`. Reply: `stopped`, within limits::stop_timeout; after that the director gives the stage up (E0609).
struct stop_request {
  stop_mode mode = stop_mode::drain;
};

/// loader or stage -> director, its last message: the engine has taken its last step and holds no slot. No reply.
struct stopped {
  stage_address address;
  incarnation_number incarnation = 0;
  /// What the engine did in its life; forward_nanoseconds is the time inside forward() alone.
  std::uint64_t micro_batches = 0;
  std::uint64_t forward_nanoseconds = 0;
};

/// aggregator -> monitor, at most once per limits::report_interval and once at the end of a call. No reply; only for
/// people to look at, nothing depends on its arrival.
struct call_progress {
  call_number call = 0;
  /// Micro-batches and samples folded so far in this call.
  std::uint64_t folded = 0;
  std::uint64_t samples = 0;
};

}  // namespace troupe
