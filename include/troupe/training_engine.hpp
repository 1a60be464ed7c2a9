#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <troupe/data_set.hpp>
#include <troupe/error.hpp>
#include <troupe/options.hpp>
#include <troupe/pipeline_engine.hpp>
#include <troupe/pipeline_module.hpp>
#include <troupe/training.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// The record of a training, so that it can go on after its program ended (docs/journal.md). Every decision about a
/// step is written to it before any stage hears of the decision.
struct training_journal_options {
  /// Empty: nothing is kept.
  std::string file = {};
  /// Go on with the file, which then exists, instead of starting it.
  bool resume = false;
  /// What the bits depend on and the engine cannot see, by names of the program's choice: "data", "order",
  /// "learning_rate". A resumed training must have the same values.
  std::map<std::string, std::string> pins = {};
};

/// How a training engine is set up.
struct training_engine_options {
  training_options training = {};
  training_journal_options journal = {};
  /// Stages, replicas, partition, sample, threads, log, trace, and what evaluations between steps need. A power of two
  /// of replicas. E0104 for `dtype`, `device`, `cuda_graphs`, and `run.journal`, which is of evaluations.
  pipeline_engine_options pipeline = {};
};

/// The result of train_batch().
struct train_output {
  /// The mean over all samples (or tokens, by their weights) of the step, before the weights changed.
  double loss = 0;
  /// Its numerator and denominator.
  double loss_sum = 0;
  double weight = 0;
  std::uint64_t micro_batches = 0;
  std::uint64_t samples = 0;
  /// The number of this step, from 0 on: global_steps() before it.
  std::uint64_t step = 0;
  double learning_rate = 0;
  /// The norm of the mean gradient over all parameters, before clipping.
  double gradient_norm = 0;
  /// The iterator ended before num_micro_batches. The step is over those that it gave; none of them: no step was done.
  bool exhausted = false;
};

/// What load_checkpoint() takes; in brackets the names of DeepSpeed's parameters. The rest stays as the engine has it.
struct load_checkpoint_options {
  /// The checkpoint has the weights of the model and no others [load_module_strict]. Otherwise those that it lacks stay
  /// as they are, and names that the model does not have are left out.
  bool strict = true;
  /// The moments, and how many steps they are of [load_optimizer_states].
  bool optimizer_states = true;
  /// The position in the schedule of learning rates [load_lr_scheduler_states].
  bool schedule_states = true;
  /// The weights alone, without the numbers of steps and samples [load_module_only]: of a checkpoint that
  /// pipeline_engine or DeepSpeed has saved, too.
  bool module_only = false;
};

/// What a load gives beside the weights.
struct loaded_training : loaded_checkpoint {
  /// The position in the data: so much the steps before the save have taken. 0 with module_only.
  std::uint64_t micro_batches = 0;
  std::uint64_t samples = 0;
};

/// A model in stages that is trained, in the shape of DeepSpeed's PipelineEngine: each train_batch() is one step of the
/// optimizer over training_options::num_micro_batches micro-batches. Weights, moments and losses have the same bits for
/// every number of stages and of replicas (docs/training.md). A step that fails leaves the weights as they were before
/// it, and the engine usable. Threads: one thread uses an engine; iterators are called from another.
class training_engine {
 public:
  /// Trains layers of C++ code, in torch's training mode. Their initial weights are drawn with training.seed and the
  /// number of the layer. E0104 for options that contradict the module, E0504 for layers that cannot be trained so;
  /// E0801 to E0804 of a journal, which a training that cannot begin leaves alone.
  [[nodiscard]] static expected<std::unique_ptr<training_engine>> create(const pipeline_module& module,
                                                                         training_engine_options options = {});
  /// Trains the model in a file of TorchScript or torch.export, or in a folder with a config.json, by the gradients of
  /// its operators as they stand (pipeline.optimize has no effect). It begins with the weights of the file. The mode is
  /// that of the file: warnings(). Errors: those of pipeline_engine::create(); E0504 a model without weights that can
  /// be trained, or with a state of its own; E0217 weights that are not float32; E0603 no training.loss. An operator
  /// without gradient is E0602 of the first train_batch(), with its place in the source.
  [[nodiscard]] static expected<std::unique_ptr<training_engine>> create(const std::string& model,
                                                                         training_engine_options options = {});
  /// Trains weights of an architecture that is built in, or of a model whose operators are in another file.
  [[nodiscard]] static expected<std::unique_ptr<training_engine>> create(const model_with_weights& model,
                                                                         training_engine_options options = {});
  training_engine(const training_engine&) = delete;
  training_engine& operator=(const training_engine&) = delete;
  ~training_engine();

  /// One step over the next num_micro_batches batches of `data`; if it is empty, of set_dataiterator()'s. Errors: E0604
  /// no iterator, or one that threw; E0602 a pass that fails; E0619 a loss or gradient that is not finite; E0103 no
  /// learning rate; E0605; E0803 a journal that cannot be written. Of a resumed training, E0801: the step is in the
  /// journal with other numbers, or the checkpoint and the journal are of two trainings.
  [[nodiscard]] expected<train_output> train_batch(data_iterator data = {});
  /// Evaluates with the weights as they are, in evaluation mode.
  [[nodiscard]] expected<eval_output> eval_batch(data_iterator data = {}, eval_batch_options options = {});
  [[nodiscard]] expected<run_result> evaluate(const data_choice& data, evaluation_hooks hooks = {});

  void set_dataiterator(data_iterator data);
  void set_batch_fn(batch_function transform);

  /// For people: what the user should know of the model, such as that a file in evaluation mode is trained with fixed
  /// statistics and without dropout. They are in the log, too.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept;

  /// Steps that were carried out in the life of the weights.
  [[nodiscard]] std::uint64_t global_steps() const noexcept;
  /// The learning rate of the next step.
  [[nodiscard]] double get_lr() const;
  /// The last micro-batch of a step was taken from the iterator, and the step is not decided yet: its gradients are
  /// completed and applied. Any thread; between two train_batch() it is false, as DeepSpeed's pipelines have it.
  [[nodiscard]] bool is_gradient_accumulation_boundary() const noexcept;
  /// What the journal has of the steps before the next one, in their order, those that an earlier program has made
  /// among them. Steps that are still to be computed again from the checkpoint on are not. Empty without a journal.
  [[nodiscard]] std::vector<train_output> journaled_steps() const;
  /// Parameters and buffers as they are after the last step, by the names that pipeline_engine has: of a model from a
  /// file, those of its state dict.
  [[nodiscard]] expected<state_dict> module_state_dict();

  /// Saves a checkpoint as pipeline_engine::save_checkpoint() does, with the state of the optimizer and the number of
  /// steps beside the layers. The same errors.
  [[nodiscard]] expected<void> save_checkpoint(const std::filesystem::path& dir, const std::string& tag,
                                               const client_state& state = {});
  /// The same, but it returns when the state is copied, so that steps go on while the files are written. The future has
  /// the outcome. The next save, and the end of the engine, wait for this one.
  [[nodiscard]] expected<std::future<expected<void>>> save_checkpoint_async(const std::filesystem::path& dir,
                                                                            const std::string& tag,
                                                                            const client_state& state = {});
  /// Loads a checkpoint of any number of stages and replicas; training goes on from there with the same bits, if the
  /// program sets an iterator that begins at the position in the data. The empty tag is the one in dir/latest. The
  /// stages stop and start again. Errors: E0201 no such tag, or no state of an optimizer, which is needed without
  /// module_only; E0104 its draws have another seed than these options, without module_only; E0218 weights that do not
  /// fit the model; load_weights(). After an error the engine has what it had.
  [[nodiscard]] expected<loaded_training> load_checkpoint(const std::filesystem::path& dir, const std::string& tag = {},
                                                          load_checkpoint_options how = {});

  /// Waits for the open calls, stops the stages and closes the journal; the trace if the options asked for one. E0803.
  [[nodiscard]] expected<std::vector<trace_event>> finish();

 private:
  friend class trainer;
  struct impl;
  explicit training_engine(std::unique_ptr<impl> state);
  template <class Model>
  [[nodiscard]] static expected<std::unique_ptr<training_engine>> create_from(const Model& model,
                                                                              training_engine_options options,
                                                                              const loss_function& of_module);
  std::unique_ptr<impl> impl_;
};

/// A data iterator that begins again when `make`'s iterator ends: each time it makes a new one. An iterator that is
/// empty from the beginning ends it.
[[nodiscard]] data_iterator repeating_loader(std::function<data_iterator()> make);

}  // namespace troupe
