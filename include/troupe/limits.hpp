#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

/// The limits that a program meets: what it may ask for, and how long Troupe waits for a program's code. They are fixed
/// when the library is compiled. A number beyond its limit is refused before anything runs, and never cut down: with
/// E0103 in an option, flag or variable, E0404 in a file, E0504 in a topology, or with the code that stands here.
/// messages/limits.hpp has all others.
namespace troupe::limits {

using namespace std::chrono_literals;

/// Stages of one pipeline; stages, and sinks, of one topology.
inline constexpr std::uint32_t stages_max = 1024;
/// Copies of one stage.
inline constexpr std::uint32_t replicas_max = 256;
/// Ranks of a process topology, over all axes; edges between the replicas of a topology; slots of a launch.
inline constexpr std::uint64_t ranks_max = std::uint64_t{stages_max} * replicas_max;
/// Layers of a model, and weights of `plan --layer-weights` (E0513): a partition takes time in layers^2 x stages.
inline constexpr std::uint32_t layers_max = 4096;
/// Intra-op threads of one stage.
inline constexpr std::uint32_t threads_max = 1024;
/// Threads that read one data set.
inline constexpr std::uint32_t data_workers_max = 64;
/// Credits of one edge: micro-batches that wait on it or are in use by its consumer. A producer without credit waits.
inline constexpr std::uint32_t pipe_buffers_max = 256;
/// Inputs, and outputs, of one node of a topology.
inline constexpr std::size_t ports_max = 64;
/// Least credits of an edge whose number is not given; InferenceSchedule's own number: one micro-batch computed, one on
/// its way.
inline constexpr std::uint32_t pipe_buffers_default = 2;
/// Faults of one fault_plan (E0109).
inline constexpr std::size_t faults_max = 64;
/// Runs that shrink() asks for; then it gives the smallest plan found so far.
inline constexpr std::size_t shrink_runs_max = 256;
/// Samples of one micro-batch.
inline constexpr std::uint64_t micro_batch_max = 1u << 24;
/// Classes of a metric that counts per class, and the greatest K of topK (E0103); outputs of a model that f1 scores
/// (E0108). A state that counts three numbers for each of them is below limits::score_words_max.
inline constexpr std::uint32_t metric_classes_max = 1u << 16;
/// Level, resamples and seed of confidence intervals (E0103).
inline constexpr double confidence_min = 0.001;
inline constexpr double confidence_max = 0.999999;
inline constexpr std::uint32_t resamples_min = 10;
inline constexpr std::uint32_t resamples_max = 100'000;
inline constexpr std::uint64_t seed_max = std::uint64_t{1} << 53;
/// Bytes of the rows that one metric keeps in a call (metric::row_bytes); more are E0603.
inline constexpr std::uint64_t metric_rows_bytes_max = std::uint64_t{1} << 30;
/// Calls of one engine that may be open, the running one included. One more fails at once (E0613).
inline constexpr std::uint32_t calls_queued_max = 64;
/// Attempts at a forward, the first included, before its micro-batch fails the call (E0602).
inline constexpr std::uint32_t forward_attempts_max = 2;
/// From the stop request until every engine has reported, including a forward in progress. Then the thread of the stage
/// is abandoned (E0609, has_abandoned_threads()).
inline constexpr std::chrono::seconds stop_timeout = 60s;
/// Time for hooks at the end of a run to take pending reports. Then their thread is abandoned (evaluator::stuck()).
inline constexpr std::chrono::seconds hooks_finish_time = 2s;
/// Default of worker_options::start_deadline, --start-deadline: from the assignment of a stage until the worker is
/// ready (reads, makes and warms up its layers). Then the worker is replaced.
inline constexpr std::chrono::seconds worker_start_deadline = 600s;
/// Default of worker_options::timeout, --worker-timeout: a worker, or an end of a link, that is silent for so long
/// counts as lost and is replaced.
inline constexpr std::chrono::milliseconds worker_silence_timeout = 10s;

}  // namespace troupe::limits
