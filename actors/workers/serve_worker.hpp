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
#include "runtime/flow/engine_body.hpp"
#include "runtime/os/shared_memory.hpp"
#include "runtime/process/worker_environment.hpp"
#include "runtime/topology/wiring_plan.hpp"
#include "runtime/trace/trace_recorder.hpp"
#include "runtime/transport/transport_table.hpp"

namespace troupe {

/// What came with an assignment.
struct assigned_memory {
  /// Null: the stage is not warmed up.
  payload_ptr warm_up = nullptr;
  /// Of the weights of a stage that trains; else null. May be of any size, which the worker makes what it needs.
  std::shared_ptr<shared_memory> state = nullptr;
};

/// What a worker finds out by itself, because it is the same program with the same arguments as its driver. It is
/// enough to become any stage of the run. All functions but `prepare` are called from one thread at a time.
struct worker_description {
  wiring_plan plan;
  /// The fingerprint of the plan and of its files as they are now (plan_fingerprint.hpp). The driver's fingerprint is
  /// that of its start.
  std::function<std::uint64_t()> fingerprint;
  std::shared_ptr<const payload_codec> codec;
  /// The transport of its edges to other processes (between_processes(), between_nodes()).
  const transport_row* edges = nullptr;
  /// The device tools of the stage that it became. Called after `make_body`, on the same thread.
  device_tools devices = {};
  /// How other nodes reach this worker; null: the run has one host only.
  std::shared_ptr<const node_network> network = nullptr;
  /// Whether what this worker sends has checksums: worker_options::checksums.
  std::optional<bool> payload_crc = std::nullopt;
  /// worker_options::timeout.
  std::chrono::milliseconds silence_timeout = limits::worker_silence_timeout;
  /// See assembly_options::trace. Set where workers share one process with the reader of their traces.
  trace_clock* trace = nullptr;
  /// Does the slow parts of becoming a stage beforehand. Called once, on a thread of its own, in a worker that has
  /// waited for limits::worker_idle_before_preparing. The assignment may come before, meanwhile, or never. May be null.
  std::function<void()> prepare = nullptr;
  /// Makes the body of the assigned stage.
  std::function<expected<engine_body>(const worker_assignment& to, const assigned_memory& given)> make_body;
  /// Makes the scorer of one call.
  std::function<expected<std::shared_ptr<scorer>>(std::uint32_t sink, const scoring& asked)> make_scorer;
};

/// Makes this process a worker: it joins the driver, says hello, takes an assignment, and computes until it is told to
/// stop or the driver is gone. Then it ends the process, with status 0 if the end was orderly.
[[noreturn]] void serve_worker(const worker_environment& environment, worker_description description);

}  // namespace troupe
