#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "messages/limits.hpp"

namespace troupe {

enum class optimize_mode : std::uint8_t {
  layer,  ///< freeze and fuse layer by layer: the bits do not depend on where the model is cut
  stage,  ///< freeze and fuse each stage as a whole: fastest, but logits move by about 1e-5 with the cut
  none,   ///< run the layers as they are: bit-equal to the eager model
};

/// What carries micro-batches from one stage to the next.
enum class transport_kind : std::uint8_t {
  automatic,  ///< the fastest there is: handles inside a process, shared memory between two
  inproc,     ///< handles, inside one process
  shm,        ///< slots in shared memory
  tcp,        ///< a TCP connection per edge, between processes
};

/// What one evaluation is asked to do. Names are the command line's and TOML's with underscores; defaults stand here
/// alone.
struct eval_options {
  std::string model;
  std::string data;
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  std::uint64_t micro_batch = 64;
  /// Intra-op threads per stage; nothing means auto = max(1, cores / (stages x replicas)), fixed at the start.
  std::optional<std::uint32_t> threads;
  optimize_mode optimize = optimize_mode::layer;
  /// uniform | parameters | type:REGEX | profile | explicit boundaries "0,4,15".
  std::string partition = "parameters";
  /// Nothing means auto: by the size of what passes between stages (runtime/engine/edge_depths.hpp).
  std::optional<std::uint32_t> num_pipe_buffers = std::nullopt;
  std::vector<std::string> metrics = {"accuracy", "cross_entropy"};
  /// Take models that print, touch files or use operators that are not known (runtime/model/model_loading.hpp).
  bool allow_effects = false;
  /// Evaluate only the first `limit` samples; nothing means all.
  std::optional<std::uint64_t> limit;
  /// File that keeps what is folded, so that a run that was killed can go on; empty means none.
  std::string journal;
  /// Go on with the journal, which then exists, instead of starting it.
  bool resume = false;
  /// Every stage replica in a worker process of its own.
  bool processes = false;
  transport_kind transport = transport_kind::automatic;
  /// Seconds without a word from a worker until it counts as frozen and is replaced.
  double worker_timeout = std::chrono::duration<double>(limits::worker_silence_timeout).count();
  /// Seconds that a worker may take to become its stage (to read, make and warm up its layers) before it is replaced.
  double start_deadline = std::chrono::duration<double>(limits::worker_start_deadline).count();
  /// Seconds that one forward may take in a worker before it costs the process; nothing means for ever.
  std::optional<double> forward_deadline;
  /// Seconds from the start until the run ends with status 124; nothing means never.
  std::optional<double> deadline;
  /// Directory for result.json (and trace.jsonl with `trace`); empty means none.
  std::string output;
  bool json = false;
  bool trace = false;
};

/// Threads per stage as `threads` says, `auto` resolved for this machine.
std::uint32_t resolve_threads(const eval_options& options, std::uint32_t cores);

}  // namespace troupe
