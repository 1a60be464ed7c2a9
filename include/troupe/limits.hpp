#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// The limits that a program meets: what it may ask for, and how long Troupe waits for a program's code.
/// messages/limits.hpp has all others.
namespace troupe::limits {

using namespace std::chrono_literals;

inline constexpr std::uint32_t stages_max = 1024;
inline constexpr std::uint32_t replicas_max = 256;
/// Ranks of a process topology, over all axes.
inline constexpr std::uint64_t ranks_max = std::uint64_t{stages_max} * replicas_max;
/// Layers of a model, and weights of `plan --weights`: a partition takes time in layers^2 x stages.
inline constexpr std::uint32_t layers_max = 4096;
inline constexpr std::uint32_t threads_max = 1024;
inline constexpr std::uint32_t pipe_buffers_max = 256;
/// Inputs, and outputs, of one node of a topology.
inline constexpr std::size_t ports_max = 64;
/// InferenceSchedule's own number: one micro-batch computed, one on its way.
inline constexpr std::uint32_t pipe_buffers_default = 2;
/// Faults of one fault_plan.
inline constexpr std::size_t faults_max = 64;
/// Runs that shrink() asks for.
inline constexpr std::size_t shrink_runs_max = 256;
inline constexpr std::uint64_t micro_batch_max = 1u << 24;
inline constexpr std::uint32_t metric_classes_max = 4096;
inline constexpr std::uint32_t calls_queued_max = 64;
/// Attempts at a forward, the first included, before its micro-batch fails the call.
inline constexpr std::uint32_t forward_attempts_max = 2;
/// From the stop request until every engine has reported, including a forward in progress.
inline constexpr std::chrono::seconds stop_timeout = 60s;
/// Time for hooks at the end of a run to take pending reports.
inline constexpr std::chrono::seconds hooks_finish_time = 2s;
/// Default --start-deadline: from the assignment of a stage until the worker is ready (reads, makes and warms up its
/// layers).
inline constexpr std::chrono::seconds worker_start_deadline = 600s;
/// Default --worker-timeout: a silent end of a link is lost after this time.
inline constexpr std::chrono::milliseconds worker_silence_timeout = 10s;

}  // namespace troupe::limits
