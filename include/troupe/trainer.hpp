#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <troupe/data_set.hpp>
#include <troupe/error.hpp>
#include <troupe/metric.hpp>
#include <troupe/options.hpp>
#include <troupe/pipeline_module.hpp>
#include <troupe/result.hpp>
#include <troupe/training.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// In which order the samples of an epoch are trained on.
enum class data_order : std::uint8_t {
  shuffled,    ///< drawn anew for each epoch, from the seed and the number of the epoch
  sequential,  ///< as they stand in the data
};

/// The training of a model's file, as `troupe train` runs it (docs/training.md). Names are those of the command line,
/// with underscores; members that eval_options has, too, have their meaning there.
struct train_options {
  std::string model = {};
  std::string weights = {};
  std::string arch = {};
  bool not_strict = false;
  std::string data = {};
  std::uint32_t stages = 1;
  /// A power of two.
  std::uint32_t replicas = 1;
  layer_unit layers = layer_unit::modules;
  std::string partition = "auto";
  std::optional<std::uint32_t> num_pipe_buffers = std::nullopt;
  bool allow_effects = false;
  bool allow_random = false;
  /// Which of several outputs and labels the loss and the metrics take.
  std::string score_output = {};
  std::string score_label = {};

  /// NAME:OPTION=VALUE:..., as "cross_entropy:ignore_index=-1:label_smoothing=0.1" (training_loss_of).
  std::string loss = "cross_entropy";
  /// In a step, over all replicas. The last step of an epoch has those that are left.
  std::uint64_t num_micro_batches = 1;
  /// When the training ends, counted over its whole life, with all that a checkpoint has behind it. Exactly one of the
  /// two is given.
  std::optional<std::uint64_t> steps = std::nullopt;
  std::optional<std::uint64_t> epochs = std::nullopt;
  data_order order = data_order::shuffled;
  /// For all draws: the order, initial weights, dropout.
  std::uint64_t seed = 0;
  optimizer_options optimizer = {};
  double lr = 0.01;
  /// NAME:OPTION=VALUE:..., as learning_rate_of() takes it.
  std::string schedule = "constant";
  std::optional<double> clip_norm = std::nullopt;
  std::uint32_t recompute_interval = 0;
  /// As protection_of() takes it.
  std::string protect = "memory";

  /// Evaluated with `metrics` between steps; empty: nothing is.
  std::string eval_data = {};
  /// In steps; nothing: after each epoch. After the last step in any case.
  std::optional<std::uint64_t> eval_every = std::nullopt;
  std::vector<std::string> metrics = {"accuracy", "cross_entropy"};
  /// Ends the training when the first metric was not better than before in so many evaluations in a row.
  std::optional<std::uint64_t> patience = std::nullopt;

  /// A folder for checkpoints with the tags global_stepN, and for a journal of all steps; empty: nothing is kept.
  std::string save = {};
  /// In steps; nothing: after each epoch. After the last step in any case.
  std::optional<std::uint64_t> save_every = std::nullopt;
  /// Goes on from the checkpoint that `latest` in the folder names; where there is none, it begins at step 0. Steps
  /// that the journal has behind it are computed again, with the same losses.
  bool resume = false;
  /// A safetensors file for the weights at the end, by their names in the model's state dict; empty: none.
  std::string save_weights = {};

  /// micro_batch, threads, data_workers, limit (samples of the data set), deadline (of the whole training), log,
  /// workers and faults. E0104 for trace and journal.
  run_options run = {.log = {.level = log_level::info}};
  /// For the command line alone, as in eval_options; E0104 in trainer::create().
  std::string output = {};
  bool json = false;
};

/// What a training takes that no flag can say.
struct train_objects {
  /// Layers of code in place of train_options::model, weights and arch. Its stages and partition count.
  std::optional<pipeline_module> module = std::nullopt;
  /// In place of train_options::data and eval_data.
  data_set_ptr data = nullptr;
  data_set_ptr eval_data = nullptr;
  /// In place of train_options::loss.
  std::optional<training_loss_options> loss = std::nullopt;
};

/// The metrics of eval_data with the weights after so many steps.
struct train_evaluation {
  std::uint64_t step = 0;
  std::uint64_t samples = 0;
  std::vector<metric_value> metrics = {};
};

struct train_progress {
  /// In the life of the training.
  std::uint64_t steps_done = 0;
  /// 0 where it is not known.
  std::uint64_t steps_total = 0;
  /// In which the last step was, from 0 on.
  std::uint64_t epoch = 0;
  double loss = 0;
  double learning_rate = 0;
  double samples_per_second = 0;
  std::uint64_t faults_injected = 0;
  /// Set where an evaluation has just ended.
  const train_evaluation* evaluation = nullptr;
};

/// What a training tells while it runs; each may be empty. What they throw is dropped.
struct train_hooks {
  /// After each step and each evaluation, on the thread of run(), which waits for it.
  std::function<void(const train_progress&)> on_progress = nullptr;
  /// As evaluation_hooks has it, once the stages have started.
  std::function<void(const log_record&)> on_log = nullptr;
};

/// The result of a training: the content of the JSON with these names (docs/training.md).
struct train_result {
  std::string model;
  std::string data;
  /// That were carried out in the life of the training.
  std::uint64_t steps = 0;
  /// Those of earlier runs among them.
  std::uint64_t steps_before = 0;
  /// Passes over the data that are complete.
  std::uint64_t epochs = 0;
  /// Samples and micro-batches of the steps of this run.
  std::uint64_t samples = 0;
  std::uint64_t micro_batches = 0;
  /// data_set::left_out() of the data that are trained on.
  std::uint64_t left_out = 0;
  /// By step, also of earlier runs: the mean over the samples of the step, before its weights changed.
  std::vector<double> losses;
  std::vector<double> learning_rates;
  std::vector<train_evaluation> evaluations;
  /// The evaluation whose first metric is the best; nothing without evaluations.
  std::optional<std::uint64_t> best_step;
  /// `patience` has ended the training.
  bool stopped_early = false;
  /// weights_sha256() at the end.
  std::string weights_sha256;
  std::vector<stage_report> stages;
  std::vector<fault_report> faults;
  std::vector<std::string> warnings;
  /// From the first micro-batch sent to the end of the last step or evaluation.
  std::chrono::nanoseconds wall_time{0};
  /// In this run, over the time of its steps.
  double samples_per_second = 0;
  /// The options in force, with `threads` resolved.
  train_options config;
  /// true: it ended before all steps were done (Ctrl-C, deadline, an error). The steps that it says are whole.
  bool partial = false;
  std::vector<error> errors;
};

/// SHA-256 over the names and values of all tensors, sorted by name: of each the name in UTF-8, one byte 0, and the
/// elements in row-major order as they lie in memory (little-endian). 64 hexadecimal digits.
[[nodiscard]] std::string weights_sha256(const state_dict& weights);

/// One training, as `troupe train` does it: epochs over a data set, steps, evaluations between them, checkpoints. One
/// thread at a time may use it, but for request_stop(). Weights and losses have the bits that training_engine promises;
/// they also are those of one undisturbed run where it was ended and resumed.
class trainer {
 public:
  /// Checks the options, opens data and model, starts the stages, and, with `resume`, loads the checkpoint. In a worker
  /// process it does not return. Errors: E0104 options that contradict each other (steps and epochs; an order that the
  /// data cannot be read in; a folder that has checkpoints already, without resume; a checkpoint of another data set,
  /// seed or order), E0105 without a model, data, or an end; those of training_engine::create(), open_data() and
  /// load_checkpoint().
  [[nodiscard]] static expected<std::unique_ptr<trainer>> create(const train_options& options, train_hooks hooks = {},
                                                                 const train_objects& objects = {});
  trainer(const trainer&) = delete;
  trainer& operator=(const trainer&) = delete;
  /// Not while run() is executing, and not from a hook.
  ~trainer();

  /// Trains to the end, or to a stop or error. Call it once: a second call is E0608. What ends it behind its first step
  /// is in the result, which is `partial` then: E0606 for a stop, E0605 for the deadline, else the cause; also where a
  /// checkpoint could not be saved. A training that fails before any step is an error.
  [[nodiscard]] expected<train_result> run();

  /// Any thread and any hook may call this, any number of times. `drain` finishes the step under way and saves a
  /// checkpoint, where train_options::save names a folder; `now` gives the step up and saves nothing. Either way the
  /// result is of the steps that are whole.
  void request_stop(stop_kind kind) noexcept;

  /// After run(): the weights at the end, by the names of the model's state dict.
  [[nodiscard]] const state_dict& weights() const noexcept;
  /// As evaluator has it.
  [[nodiscard]] bool stuck() const noexcept;

 private:
  struct impl;
  explicit trainer(std::unique_ptr<impl> state);
  std::unique_ptr<impl> impl_;
};

/// The result as a JSON document, and as text for people in at most `width` columns.
[[nodiscard]] json_report train_json(const train_result& result);
[[nodiscard]] std::string train_table(const train_result& result, std::size_t width);

}  // namespace troupe
