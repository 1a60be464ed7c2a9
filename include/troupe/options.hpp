#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <troupe/fault_plan.hpp>
#include <troupe/limits.hpp>
#include <troupe/log_record.hpp>

namespace troupe {

/// What the layers of a model are: ranges of operators by the module that they belong to, or each operator.
enum class layer_unit : std::uint8_t { modules, operators };

enum class optimize_mode : std::uint8_t {
  graph,  ///< rewrite the graph of the whole model before it is cut: faster, and logits move by about 1e-6
  none,   ///< run the model as it is: bit-equal to the eager model
  // Former names: how much of a model was rewritten at a time was a choice.
  layer = graph,
  stage = graph,
};

/// The kind of edge between stages.
enum class transport_kind : std::uint8_t {
  automatic,  ///< handles inside a process, shared memory between processes
  inproc,     ///< handles, inside one process
  shm,        ///< slots in shared memory
  tcp,        ///< a TCP connection per edge, between processes
  nccl,       ///< NCCL where both ends are on CUDA devices, between processes; the others as automatic
};

/// How a model's file is loaded, wherever one is taken.
struct model_loading {
  /// A model is a program. By default its code may turn tensors into tensors and nothing else: code that prints,
  /// touches files or processes, or uses operators that are not known, is refused (E0212) before it runs. True
  /// takes it.
  bool allow_effects = false;
};

/// What stands in a file of predictions beside each prediction.
enum class prediction_extra : std::uint8_t {
  none,           ///< nothing
  probabilities,  ///< the softmax of the scored output over the classes, in float32
  outputs,        ///< the scored output as it is
};

/// A file with what the model says of each sample that a sink scores, in the order of the samples, each once.
/// docs/predictions.md
struct prediction_options {
  /// Ends in .jsonl, a JSON object in each line, or .npy, one array. Empty: nothing is written. It is replaced when the
  /// run has ended, also with what a partial result counts.
  std::string file = {};
  /// In a .npy it stands in the place of the predictions.
  prediction_extra with = prediction_extra::none;
};

/// The record of a run, so that it can go on after its program ended.
struct journal_options {
  /// Empty: nothing is kept.
  std::string file = {};
  /// Go on with the file, which then exists, instead of starting it.
  bool resume = false;
};

/// Where the log of a run goes, which tells of deaths, stalls and all that workers print.
struct log_options {
  /// Lines are appended to it; empty: stderr, or evaluation_hooks::on_log where there is one.
  std::string file = {};
  /// The form of the lines in the file or on stderr; E0104 where evaluation_hooks::on_log is in the place of both.
  log_format format = log_format::text;
  /// The lowest that is told; nothing: warning, and info for evaluation_hooks::on_log.
  std::optional<log_level> level = std::nullopt;
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
  /// One forward; a worker whose forward takes longer is replaced. Nothing: for ever.
  std::optional<std::chrono::nanoseconds> forward_deadline = std::nullopt;
  /// Checksums over all that edges between processes carry, in shared memory, too: a damaged micro-batch is sent again.
  /// Nothing: on tcp edges without TLS, which has its own, and nowhere else.
  std::optional<bool> checksums = std::nullopt;
};

/// How anything is run: an evaluation, a topology, an engine.
struct run_options {
  std::uint64_t micro_batch = 64;
  /// Intra-op threads per stage, unless the stage says otherwise; nothing: max(1, cores / stage replicas).
  std::optional<std::uint32_t> threads = std::nullopt;
  /// Threads that read and decode a data set; 1 is the loader's own, more are threads beside it, which read ahead. The
  /// micro-batches, their order and their bits are the same for every number.
  std::uint32_t data_workers = 1;
  /// Evaluate only the first `limit` samples.
  std::optional<std::uint64_t> limit = std::nullopt;
  /// From evaluator::create(), or an engine's call, until the run ends with E0605 and a partial result.
  std::optional<std::chrono::nanoseconds> deadline = std::nullopt;
  /// Records what each stage does (run_result::trace, pipeline_engine::finish()); E0104 with worker processes.
  bool trace = false;
  journal_options journal = {};
  log_options log = {};
  worker_options workers = {};
  /// What the run injects into itself, from its start until its end. Of a pipeline_engine, over all its calls.
  fault_plan faults = {};
};

/// An evaluation of a model's file, as `troupe eval` runs it. Names are those of the command line and TOML, with
/// underscores. Defaults are defined here and in run_options only.
struct eval_options {
  /// A file or a folder; empty where an architecture is given.
  std::string model;
  /// Weights for `arch`, or in place of those of the model's file, and the architecture, as model_with_weights has
  /// them.
  std::string weights = {};
  std::string arch = {};
  bool not_strict = false;
  std::string data;
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  /// What the boundaries of partition count, and stages begin and end with.
  layer_unit layers = layer_unit::modules;
  optimize_mode optimize = optimize_mode::graph;
  /// auto | uniform | parameters | type:REGEX | profile | explicit boundaries "0,4,15".
  std::string partition = "auto";
  /// Not set (auto): 2, and up to 32 where 256 KiB hold the activations.
  std::optional<std::uint32_t> num_pipe_buffers = std::nullopt;
  /// As stage_options has it; for all stages.
  std::string device = "cpu";
  /// As stage_options has it; for all stages.
  bool cuda_graphs = false;
  /// float32 | float16 | bfloat16: parameters and inputs of the model are cast to it. "auto": both stay as they are.
  std::string dtype = "auto";
  std::vector<std::string> metrics = {"accuracy", "cross_entropy"};
  /// Which of several outputs, and of several labels, the metrics score; empty: the only one (sink_options).
  std::string score_output = {};
  std::string score_label = {};
  prediction_options predictions = {};
  /// Level of a confidence interval of each metric (interval_options); nothing: none.
  std::optional<double> confidence = std::nullopt;
  std::uint32_t bootstrap_resamples = 1000;
  std::uint64_t bootstrap_seed = 0;
  /// See model_loading.
  bool allow_effects = false;
  /// Takes a model whose results are not repeatable, such as one that draws random numbers, with a warning; otherwise
  /// it is E0216 (docs/models.md).
  bool allow_random = false;
  /// Here the log begins at info, as that of the command line.
  run_options run = {.log = {.level = log_level::info}};
  /// For the command line alone, as `json`: the directory for result.json (and trace.jsonl with `run.trace`). An
  /// evaluator writes and prints nothing, so evaluator::create() refuses both (E0104); result_json() and
  /// trace_json_lines() give the texts. They stand here for run_result::config.
  std::string output = {};
  bool json = false;
  /// For the command line alone, too: where scalar_log (scalars.hpp) writes the metrics, and of which step they are;
  /// nothing: the one in the name of the weights or of the model, else 0. E0104 in evaluator::create().
  std::string log_scalars = {};
  std::optional<std::uint64_t> log_step = std::nullopt;
};

/// Threads per stage as `run.threads` says; without a number what run_options says of a machine with so many cores.
std::uint32_t resolve_threads(const eval_options& options, std::uint32_t cores);

enum class stop_kind : std::uint8_t {
  drain,  ///< stop loading, finish the work in flight, give a partial result
  now,    ///< drop the work in flight, give a partial result of the folded states
};

struct progress_update {
  std::uint64_t samples_done = 0;
  std::uint64_t samples_total = 0;
  std::uint64_t micro_batches_done = 0;
  std::uint64_t faults_injected = 0;
  double samples_per_second = 0;
};

/// What a run tells while it runs; each may be empty. One thread of their own, not the caller's, calls both, one call
/// at a time, until run() returns or the evaluator is destroyed; `on_log` also during create(). A hook may call
/// request_stop(), but neither run() nor what destroys the evaluator. An exception of a hook is dropped. A blocking
/// hook loses reports and delays nothing else. At the end of a run pending reports have limits::hooks_finish_time; a
/// hook that has not returned by then makes the evaluator stuck(), and what it refers to must live on.
struct evaluation_hooks {
  /// The newest state, about ten times per second where it has changed, and the last one.
  std::function<void(const progress_update&)> on_progress;
  /// Gets the records of run_options::log.level and above, in place of stderr; to_string(record) is the line.
  std::function<void(const log_record&)> on_log;
};

}  // namespace troupe
