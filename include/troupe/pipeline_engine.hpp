#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <troupe/data_set.hpp>
#include <troupe/error.hpp>
#include <troupe/evaluator.hpp>
#include <troupe/metric.hpp>
#include <troupe/options.hpp>
#include <troupe/pipeline_module.hpp>
#include <troupe/result.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// How an engine is set up. Defaults are DeepSpeed's where it has one.
struct pipeline_engine_options {
  /// Not set: 1, or what the module says.
  std::optional<std::uint32_t> stages = std::nullopt;
  std::optional<std::uint32_t> replicas = std::nullopt;
  /// Micro-batches of a call over all replicas, unless the call says otherwise.
  std::uint64_t num_micro_batches = 1;
  /// Threads, trace and workers hold for all calls. micro_batch, limit and journal hold for evaluate(); eval_batch()
  /// refuses the last two (E0104). The deadline holds for each call. A worker process computes the loss of its
  /// micro-batches: it executes main() up to create(), and gets the loss function there. Records of the log reach its
  /// file or stderr soon after they happen, also between calls; a hook of evaluate() gets those since the last call.
  run_options run = {};
  optimize_mode optimize = optimize_mode::graph;
  /// See cut_options. Not set: "auto", or what the module says. "auto" without a sample is "parameters", and "profile"
  /// without one E0104.
  std::optional<std::string> partition = std::nullopt;
  /// As eval_options has it; of no effect on layers of code.
  layer_unit layers = layer_unit::modules;
  /// See model_loading.
  bool allow_effects = false;
  /// As eval_options has it.
  bool allow_random = false;
  /// As eval_options has it.
  std::optional<std::uint32_t> num_pipe_buffers = std::nullopt;
  /// See cut_options.
  std::optional<c10::ScalarType> dtype = std::nullopt;
  std::string device = "cpu";
  bool cuda_graphs = false;
  /// A real micro-batch [N, ...]; several inputs have names. It passes every layer before the start (E0209),
  /// `partition = "profile"` times the layers on it, and the rewritten model is compared with the plain one on it.
  /// Undefined: none of these.
  named_tensors sample = {};
  /// A call that takes longer fails with E0605. Above 0, at most 366 days.
  std::chrono::nanoseconds call_timeout = std::chrono::hours{24};
  /// Metrics of evaluate(): those of the sink "metrics", and more sinks.
  std::vector<metric_choice> metrics = {"accuracy", "cross_entropy"};
  /// Which of several outputs of the model, and of several labels, these metrics and the loss take. eval_batch() gives
  /// that output. Empty: the only one; E0603 where there are several.
  sink_options score = {};
  std::vector<eval_sink> sinks = {};
  /// Gets the records of the log in place of stderr, from create() until the engine has ended, on a thread of its own,
  /// as evaluation_hooks::on_log does.
  std::function<void(const log_record&)> on_log = nullptr;
  /// The model is trained, as cut_options has it; training_engine alone sets both.
  std::shared_ptr<const training_options> training = nullptr;
  std::shared_ptr<const training_snapshot> training_from = nullptr;
};

/// What a DeepSpeed configuration says to a pipeline_engine; docs/config.md has its keys and the rule of the batch.
struct deepspeed_settings {
  /// Samples of a batch: micro_batch x gradient_accumulation_steps x replicas.
  std::uint64_t train_batch_size = 0;
  /// Samples of a micro-batch (train_micro_batch_size_per_gpu): run_options::micro_batch.
  std::uint64_t micro_batch = 0;
  /// Micro-batches of a batch for each replica; over all replicas it is pipeline_engine_options::num_micro_batches.
  std::uint64_t gradient_accumulation_steps = 1;
  /// Members of pipeline_engine_options; not set where the file says nothing.
  std::optional<std::uint32_t> stages = std::nullopt;
  std::optional<std::string> partition = std::nullopt;
  std::optional<c10::ScalarType> dtype = std::nullopt;
  /// For people: keys that mean nothing here, and keys that are "auto".
  std::vector<std::string> warnings = {};
};

/// Reads the file for so many replicas, which are its world size. Errors: E0103 replicas that cannot be, E0401 no such
/// file or a directory, E0402 no JSON, or beyond the limits, E0404 wrong type or value, or a batch that does not
/// divide. Any thread.
expected<deepspeed_settings> read_deepspeed_settings(const std::string& file, std::uint32_t replicas = 1);

enum class reduction : std::uint8_t {
  avg,   ///< unweighted mean over micro-batches, as DeepSpeed's; for uneven ones not the mean over samples
  none,  ///< one value per micro-batch
};

/// The parameters of eval_batch (docs/pipeline_engine.md compares each with DeepSpeed's).
struct eval_batch_options {
  /// Give the last stage's outputs, of all micro-batches, besides the loss. From worker processes 8 MiB per micro-batch
  /// at the most (E0603). Without compute_loss the outputs have the same limit.
  bool return_logits = false;
  /// false: give the outputs instead of the loss. Labels are not needed then. true without a loss function is E0603.
  bool compute_loss = true;
  reduction reduce_output = reduction::avg;
  /// Micro-batches of this call over all replicas; at least 1.
  std::optional<std::uint64_t> num_micro_batches = std::nullopt;
  /// true: a promise that the memory of the batches is not written again before the call has ended. They are then
  /// shared where they begin at a multiple of 64 bytes, and not copied (sample_block).
  bool constant_batches = false;
};

/// The result of eval_batch. Members that the options did not ask for are empty.
struct eval_output {
  /// With compute_loss and avg: one mean per part of the loss. Empty if the iterator gave no batch.
  std::vector<double> loss;
  /// With compute_loss and none: [micro-batch][part].
  std::vector<std::vector<double>> losses;
  /// Without compute_loss. none: outputs per micro-batch. avg: one tensor, their element-wise mean.
  std::vector<at::Tensor> outputs;
  /// With return_logits: outputs per micro-batch.
  std::vector<at::Tensor> logits;
  std::uint64_t micro_batches = 0;
  std::uint64_t samples = 0;
  /// The iterator ended before num_micro_batches. The result covers the batches that it gave.
  bool exhausted = false;
  /// request_stop() ended the call. The result covers the batches that were finished.
  bool stopped = false;
};

/// The future result of a call. get() blocks and may be called once. It may outlive its engine, whose destructor ends
/// open calls with E0606.
class eval_future {
 public:
  class state;
  explicit eval_future(std::unique_ptr<state> s);
  eval_future(eval_future&&) noexcept;
  eval_future& operator=(eval_future&&) noexcept;
  ~eval_future();

  [[nodiscard]] expected<eval_output> get();
  [[nodiscard]] bool ready() const;

 private:
  std::unique_ptr<state> state_;
};

/// The DeepSpeed-shaped interface: a model in stages that evaluates batches from an iterator, and whole data sets.
/// Calls queue, so that the pipe stays full from one to the next; a call that fails leaves the engine usable. Threads:
/// one thread uses an engine; iterators and loss functions are called from others (see their types).
class pipeline_engine {
 public:
  /// From the file of a model, or a folder with a config.json (docs/models.md). `loss` may be empty if no call computes
  /// a loss.
  [[nodiscard]] static expected<std::unique_ptr<pipeline_engine>> create(const std::string& model,
                                                                         pipeline_engine_options options = {},
                                                                         loss_function loss = {});
  /// From weights of an architecture that is built in, or of a model whose operators are in another file.
  [[nodiscard]] static expected<std::unique_ptr<pipeline_engine>> create(const model_with_weights& model,
                                                                         pipeline_engine_options options = {},
                                                                         loss_function loss = {});
  /// From layers described in code. The module has stages, partition and loss, and its topology the replicas. E0104 for
  /// options that give other stages or replicas, or any partition or allow_effects.
  [[nodiscard]] static expected<std::unique_ptr<pipeline_engine>> create(const pipeline_module& module,
                                                                         pipeline_engine_options options = {});

  pipeline_engine(const pipeline_engine&) = delete;
  pipeline_engine& operator=(const pipeline_engine&) = delete;
  ~pipeline_engine();

  /// Evaluates num_micro_batches batches of `data`; if it is empty, of set_dataiterator()'s. Pulls exactly the batches
  /// that it evaluates, and none before the call.
  [[nodiscard]] expected<eval_output> eval_batch(data_iterator data = {}, eval_batch_options options = {});
  /// Queues the same call and returns at once. At most limits::calls_queued_max calls may be open (E0613).
  [[nodiscard]] eval_future eval_batch_async(data_iterator data = {}, eval_batch_options options = {});

  /// Sets the iterator of calls without data. Each call continues where the call before stopped.
  void set_dataiterator(data_iterator data) {
    // every call holds a copy of data_: the position inside the iterator must be one for all of them
    data_ = data ? [kept = std::make_shared<data_iterator>(std::move(data))] { return (*kept)(); } : data_iterator{};
  }
  /// Applied to every batch of an iterator, from the next call on.
  void set_batch_fn(batch_function transform) { transform_ = std::move(transform); }

  /// Evaluates a whole data set, every sample exactly once, with the metrics and sinks of the options. Errors: those
  /// of evaluator::create() and run(). A metric that does not fit is told by the first micro-batch (E0108). A journal
  /// records one evaluation: the next one of this engine is E0803.
  [[nodiscard]] expected<run_result> evaluate(const data_choice& data, evaluation_hooks hooks = {});
  /// The same with other metrics for this call. E0104 for metric objects with worker processes, which have only those
  /// of the options.
  [[nodiscard]] expected<run_result> evaluate(const data_choice& data, std::uint64_t micro_batch,
                                              const std::vector<metric_choice>& metrics = {"accuracy", "cross_entropy"},
                                              evaluation_hooks hooks = {});
  /// Any thread may call this. Ends all open calls, and the engine takes more. evaluate() gives a partial result;
  /// eval_batch() finishes all in flight, whatever the kind, and sets eval_output::stopped.
  void request_stop(stop_kind kind) noexcept;

  /// Parameters and buffers by the names of the model's state dict, in its order, in options.dtype; of layers in code
  /// "INDEX.NAME", such as "3.weight". They share no memory with the stages. E0617 where the model's file has changed
  /// since create().
  [[nodiscard]] expected<state_dict> module_state_dict();
  /// Gives the model other weights: `weights` in the types of its own. The calls that are open end before, the stages
  /// stop and start again, and later calls have the new weights, also in workers that replace dead ones. Without
  /// `strict`, weights that are missing stay as they are, and names that the model does not have are left out; with it
  /// they are E0218, as sizes that differ always are. E0104 with a journal or over the nodes of a launch; E0606 behind
  /// finish(). After an error the engine has the weights it had. A trace has the events since the last load.
  [[nodiscard]] expected<void> load_module_state_dict(const state_dict& weights, bool strict = true);

  /// Saves a checkpoint as DeepSpeed does, one file for each layer, in the folder dir/tag, and names the tag in
  /// dir/latest (docs/weights.md). A tag that exists is replaced as a whole. A process that is killed meanwhile leaves
  /// the old checkpoint or the new one. Errors: E0103 a tag that is no plain name of a file, or a name in the state
  /// that DeepSpeed uses itself; E0611 it cannot be written; E0217 a tensor that torch.save has no type for; those of
  /// module_state_dict().
  [[nodiscard]] expected<void> save_checkpoint(const std::filesystem::path& dir, const std::string& tag,
                                               const client_state& state = {});
  /// Loads a checkpoint that this function's counterpart or DeepSpeed has saved, whatever its number of stages. The
  /// empty tag is the one in dir/latest. Errors: E0201 no such tag; E0217 a model axis; load_weights();
  /// load_module_state_dict(), which name the layer.
  [[nodiscard]] expected<loaded_checkpoint> load_checkpoint(const std::filesystem::path& dir,
                                                            const std::string& tag = {}, bool strict = true);

  /// Waits for the open calls, stops the stages, and gives the trace if the options asked for one. Later calls are
  /// refused. E0609 for a stage that does not come back. A second call changes nothing.
  [[nodiscard]] expected<std::vector<trace_event>> finish();

  [[nodiscard]] std::uint32_t num_stages() const noexcept;

 private:
  friend class trainer;
  friend class training_engine;
  struct impl;
  [[nodiscard]] static expected<std::unique_ptr<pipeline_engine>> start(model_source model, std::string name,
                                                                        pipeline_engine_options options,
                                                                        loss_function loss);
  explicit pipeline_engine(std::unique_ptr<impl> state);

  std::unique_ptr<impl> impl_;
  data_iterator data_;
  batch_function transform_;
};

}  // namespace troupe
