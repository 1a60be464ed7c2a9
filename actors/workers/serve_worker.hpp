#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "messages/lifecycle.hpp"
#include "messages/limits.hpp"
#include "messages/worker.hpp"
#include "runtime/edge/payload_codec.hpp"
#include "runtime/edge/tcp/node_network.hpp"
#include "runtime/flow/stage_body.hpp"
#include "runtime/process/worker_environment.hpp"
#include "runtime/topology/wiring_plan.hpp"
#include "runtime/trace/trace_recorder.hpp"
#include "runtime/transport/transport_table.hpp"

namespace troupe {

/// What a worker finds out by itself, as the same program with the same arguments as its driver: enough to become any
/// stage of the run. Callables but for `prepare` are called from one thread at a time.
struct worker_description {
  wiring_plan plan;
  /// The fingerprint of the plan and its files as they are now (plan_fingerprint.hpp); the driver's is of its start.
  std::function<std::uint64_t()> fingerprint;
  std::shared_ptr<const payload_codec> codec;
  /// The row of its edges to other processes (between_processes(), between_nodes()).
  const transport_row* edges = nullptr;
  /// The device tools of the stage that it became: asked after `make_body`, on its thread.
  device_tools devices = {};
  /// What it shows to other nodes; null: the run has one host alone.
  std::shared_ptr<const node_network> network = nullptr;
  /// As worker_options::checksums, of what this worker sends.
  std::optional<bool> payload_crc = std::nullopt;
  /// As worker_options::timeout.
  std::chrono::milliseconds silence_timeout = limits::worker_silence_timeout;
  /// See assembly_options::trace. Set where workers share one process with the reader of their traces.
  trace_clock* trace = nullptr;
  /// Once, on a thread of its own, in a worker that has waited for limits::worker_idle_before_preparing: makes ready
  /// what becoming a stage takes long for. The assignment may come before, meanwhile, or never. May be null.
  std::function<void()> prepare = nullptr;
  /// `warm_up` is null where the assignment has none.
  std::function<expected<std::shared_ptr<stage_body>>(const worker_assignment& to, const payload_ptr& warm_up)>
      make_body;
  /// For one call.
  std::function<expected<std::shared_ptr<scorer>>(std::uint32_t sink, const scoring& asked)> make_scorer;
};

/// Becomes a worker: joins the driver, says hello, takes an assignment, computes until it is told to stop or the
/// driver is gone. Ends the process, with status 0 after an orderly end; never returns.
[[noreturn]] void serve_worker(const worker_environment& environment, worker_description description);

}  // namespace troupe
