#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "messages/limits.hpp"
#include "runtime/config/eval_options.hpp"

namespace troupe {

/// What is kept of a run, so that it can go on after its program ended.
struct journal_options {
  /// Empty: nothing is kept.
  std::string file = {};
  /// Go on with the file, which then exists, instead of starting it.
  bool resume = false;
};

/// Stages in worker processes. The times count wherever a stage lives in one.
struct worker_options {
  /// Every stage, join and route replica in a worker process of its own; main() has made a troupe::program then.
  bool enabled = false;
  transport_kind transport = transport_kind::automatic;
  /// Without a word from a worker for so long, it counts as frozen and is replaced.
  std::chrono::milliseconds timeout = limits::worker_silence_timeout;
  /// From its assignment until a worker has read, made and warmed up its layers; then it is replaced.
  std::chrono::milliseconds start_deadline = limits::worker_start_deadline;
  /// One forward; a longer one costs its process. Nothing: for ever.
  std::optional<std::chrono::nanoseconds> forward_deadline = std::nullopt;
  /// Checksums over what tcp edges carry; nothing: as tcp_endpoint_options has it.
  std::optional<bool> payload_crc = std::nullopt;
};

/// How anything is run: an evaluation, a topology, an engine.
struct run_options {
  std::uint64_t micro_batch = 64;
  /// Intra-op threads per stage, unless the stage says otherwise; nothing: max(1, cores / stage replicas).
  std::optional<std::uint32_t> threads = std::nullopt;
  /// Evaluate only the first `limit` samples.
  std::optional<std::uint64_t> limit = std::nullopt;
  /// From the start until the run ends with E0605 and a partial result.
  std::optional<std::chrono::nanoseconds> deadline = std::nullopt;
  bool trace = false;
  journal_options journal = {};
  worker_options workers = {};
};

enum class stop_kind : std::uint8_t {
  drain,  ///< stop loading, finish the work in flight, give a partial result
  now,    ///< drop the work in flight, give a partial result of the folded states
};

}  // namespace troupe
