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

/// The kind of edge between stages.
enum class transport_kind : std::uint8_t {
  automatic,  ///< handles inside a process, shared memory between processes
  inproc,     ///< handles, inside one process
  shm,        ///< slots in shared memory
  tcp,        ///< a TCP connection per edge, between processes
};

/// Options of one evaluation. Names are those of the command line and TOML, with underscores. Defaults are defined here
/// only.
struct eval_options {
  std::string model;
  std::string data;
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  std::uint64_t micro_batch = 64;
  /// Intra-op threads per stage, fixed at the start. Not set (auto): max(1, cores / (stages x replicas)).
  std::optional<std::uint32_t> threads;
  optimize_mode optimize = optimize_mode::layer;
  /// uniform | parameters | type:REGEX | profile | explicit boundaries "0,4,15".
  std::string partition = "parameters";
  /// Not set (auto): by the size of activations (runtime/engine/edge_depths.hpp).
  std::optional<std::uint32_t> num_pipe_buffers = std::nullopt;
  std::vector<std::string> metrics = {"accuracy", "cross_entropy"};
  /// Accept models that print, touch files or use unknown operators (runtime/model/model_loading.hpp).
  bool allow_effects = false;
  /// Evaluate only the first `limit` samples. Not set: all.
  std::optional<std::uint64_t> limit;
  /// File that records folded states, so that a killed run can continue. Empty: none.
  std::string journal;
  /// Continue the existing journal instead of creating one.
  bool resume = false;
  /// Give each stage replica a worker process.
  bool processes = false;
  transport_kind transport = transport_kind::automatic;
  /// Seconds of silence after which a worker counts as frozen and is replaced.
  double worker_timeout = std::chrono::duration<double>(limits::worker_silence_timeout).count();
  /// Seconds after which a worker that has not become its stage (read, make and warm up its layers) is replaced.
  double start_deadline = std::chrono::duration<double>(limits::worker_start_deadline).count();
  /// Seconds after which a worker is replaced whose forward has not returned. Not set: no limit.
  std::optional<double> forward_deadline;
  /// Seconds from the start until the run ends with status 124. Not set: no deadline.
  std::optional<double> deadline;
  /// Directory for result.json (and trace.jsonl with `trace`). Empty: none.
  std::string output;
  bool json = false;
  bool trace = false;
};

/// Threads per stage as `threads` says, `auto` resolved for this machine.
std::uint32_t resolve_threads(const eval_options& options, std::uint32_t cores);

}  // namespace troupe
