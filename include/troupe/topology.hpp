#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <torch/csrc/jit/api/module.h>

#include <troupe/data_set.hpp>
#include <troupe/error.hpp>
#include <troupe/layer_spec.hpp>
#include <troupe/metric.hpp>
#include <troupe/model.hpp>
#include <troupe/options.hpp>
#include <troupe/stage_function.hpp>
#include <troupe/training.hpp>
#include <troupe/weights.hpp>

namespace troupe {

/// The code of a stage: a callable (see callable_stage) of which each replica gets a copy, an object, or a factory that
/// makes an object where it runs. stage_function says on which threads it is called and what it may do.
class stage_recipe {
 public:
  stage_recipe(stage_factory factory) : factory_(std::move(factory)) {}
  /// A TorchScript module, run as a whole (model.hpp).
  stage_recipe(const torch::jit::Module& module);
  /// One object, for a stage with one replica: several would call it from their threads at a time (E0504).
  template <class Function>
  requires std::is_base_of_v<stage_function, Function> stage_recipe(std::shared_ptr<Function> object)
      : factory_([object](const stage_context&) -> std::shared_ptr<stage_function> { return object; }),
        is_one_object_(true) {}
  template <class Callable>
  requires(std::is_invocable_r_v<named_tensors, Callable&, const at::Tensor&> ||
           std::is_invocable_r_v<named_tensors, Callable&, const named_tensors&> ||
           std::is_invocable_r_v<named_tensors, Callable&, const at::Tensor&, const micro_batch_info&> ||
           std::is_invocable_r_v<named_tensors, Callable&, const named_tensors&, const micro_batch_info&>)
      stage_recipe(Callable call)
      : factory_([call = std::move(call)](const stage_context&) -> std::shared_ptr<stage_function> {
          return std::make_shared<callable_stage<Callable>>(call);
        }) {}

  [[nodiscard]] const stage_factory& factory() const noexcept { return factory_; }
  [[nodiscard]] bool is_one_object() const noexcept { return is_one_object_; }

 private:
  stage_factory factory_;
  bool is_one_object_ = false;
};

struct training_snapshot;

struct stage_options {
  std::uint32_t replicas = 1;
  /// Credits of every edge into the stage. Not set: 2, or up to 32 for small activations.
  std::optional<std::uint32_t> num_pipe_buffers = std::nullopt;
  /// true: take micro-batches in id order. false: in order of arrival.
  bool ordered = false;
  /// Intra-op threads. Not set: the run's number.
  std::optional<std::uint32_t> threads = std::nullopt;
  /// float32, float16 or bfloat16: casts floating-point inputs, and the weights of a TorchScript module. Not set: none.
  std::optional<c10::ScalarType> dtype = std::nullopt;
  /// cpu; cuda:N; cuda, for the devices of the machine in turn; or privateuseone[:N], which the program makes known to
  /// LibTorch. E0103 for another text, E0110 where the machine lacks it (docs/gpu.md). A join or route runs on the CPU.
  std::string device = "cpu";
  /// true: what run() gives a GPU is recorded once per shape of its inputs, and then repeated without calling run()
  /// again (docs/gpu.md): it must do the same for every micro-batch, and read nothing of micro_batch_info. E0104 on the
  /// CPU; E0602 where run() waits for the device.
  bool cuda_graphs = false;
  std::vector<std::string> inputs = {"in"};
  std::vector<std::string> outputs = {"out"};
  /// Gives each replica a worker process, also without worker_options::enabled. Needs troupe::program.
  bool process = false;
  /// Keeps each replica in the driver's process, also with worker_options::enabled and in a launch: what it gives to a
  /// sink then crosses no process as a message. Its threads do not count for run_options::threads. E0504 with
  /// `process`.
  bool in_driver = false;
  /// Nodes of a launch (docs/multi-node.md), by name: one for all replicas, or one for each. Empty: any. The flag
  /// --placement overrides it. E0102 where the launch has no such node; E0504 without a launch.
  std::vector<std::string> placement = {};
  /// Takes a stage that gives other bits for the same input, with a warning; otherwise the try-out finds it (E0216).
  bool allow_random = false;
};

/// A model, cut into stages as `troupe eval` does it.
struct cut_options {
  std::uint32_t stages = 1;
  std::uint32_t replicas = 1;
  /// auto | uniform | parameters | type:REGEX | profile | "0,4,15". profile times the layers on the first micro-batch;
  /// auto does so where the cut can depend on it, and is parameters elsewhere.
  std::string partition = "auto";
  /// What the boundaries of partition count, and stages begin and end with.
  layer_unit layers = layer_unit::modules;
  optimize_mode optimize = optimize_mode::graph;
  /// For each stage, as in stage_options.
  std::optional<std::uint32_t> num_pipe_buffers = std::nullopt;
  /// The first stage takes micro-batches in id order.
  bool ordered = false;
  std::optional<std::uint32_t> threads = std::nullopt;
  std::optional<c10::ScalarType> dtype = std::nullopt;
  std::string device = "cpu";
  /// Both as in stage_options.
  bool cuda_graphs = false;
  bool process = false;
  /// As in stage_options, but one node for all stages, or one for each; replicas of a stage live on the same node.
  std::vector<std::string> placement = {};
  /// For a model from a file; see model_loading.
  bool allow_effects = false;
  /// Takes a model whose results are not repeatable, such as one that draws random numbers, with a warning; otherwise
  /// it is E0216 (docs/models.md).
  bool allow_random = false;
  /// The pipeline is trained; training_engine alone sets it.
  std::shared_ptr<const training_options> training = nullptr;
  /// The state that its training begins with; null: new weights.
  std::shared_ptr<const training_snapshot> training_from = nullptr;
};

class layered_model;
struct kept_layers;

/// Where the model of a pipeline comes from: a file or folder, weights of a built-in architecture, a module in memory,
/// a loaded model, or layers that are built where they run. Whatever makes one of these makes a source. A value: a copy
/// shares the modules.
class model_source {
 public:
  using alternatives =
      std::variant<std::string, model_with_weights, torch::jit::Module, model, std::vector<layer_spec>>;
  template <class Source>
  requires(!std::is_same_v<Source, model_source> && std::is_constructible_v<alternatives, Source>)
      model_source(Source from)
      : from_(std::move(from)) {}

  /// For the library alone, as all below; `pipeline` is the name in errors. E0104 for options that this kind of source
  /// cannot obey.
  [[nodiscard]] expected<void> check(const cut_options& options, const std::string& pipeline) const;
  /// Opens, and casts, the model; with `kept`, the weights of these layers alone. Errors: load_model(), make_model(),
  /// build_layers().
  [[nodiscard]] expected<std::shared_ptr<layered_model>> open(const cut_options& options, const std::string& pipeline,
                                                              const kept_layers* kept = nullptr) const;
  /// What open() reads, by the paths that the driver knows: other nodes get these files, workers compare them with
  /// those of the driver. Empty for a model that is in memory.
  [[nodiscard]] std::vector<std::string> files() const;
  /// What a journal pins: a SHA-256 of the files' content, or of the types, weights and buffers of the layers. E0210
  /// for a file that cannot be read; errors of open().
  [[nodiscard]] expected<std::string> identity(const cut_options& options, const std::string& pipeline) const;
  /// The layers of C++ code that it was made from; null for any other source.
  [[nodiscard]] const std::vector<layer_spec>* layers() const noexcept {
    return std::get_if<std::vector<layer_spec>>(&from_);
  }
  /// Its operators are those of an architecture that is built in.
  [[nodiscard]] bool is_built_in() const;
  /// The file; `otherwise` for a model in memory.
  [[nodiscard]] std::string name_or(const std::string& otherwise) const;
  /// The same model with other weights: all of its table, by name. Where `state` is null, `file` holds them; else it is
  /// the file in which worker processes find them, empty where there are none.
  [[nodiscard]] model_source with_state(std::shared_ptr<const state_dict> state, std::string file) const;
  [[nodiscard]] const std::string& state_file() const noexcept { return state_file_; }

 private:
  alternatives from_;
  std::shared_ptr<const state_dict> state_;
  std::string state_file_;
};

/// A name (make_metric), or a metric of your own.
using metric_choice = std::variant<std::string, metric_ptr>;
[[nodiscard]] const std::string& name_of(const metric_choice& metric) noexcept;
/// KIND:PATH as for `--data`, or a data set of your own.
using data_choice = std::variant<std::string, data_set_ptr>;

struct sink_options {
  /// Name of the output to score. Empty: the only one; E0108 where there are several.
  std::string tensor = {};
  /// Against which of the labels; empty: the only one, as above.
  std::string label = {};
  /// The samples that reach the sink. In an engine each call of evaluate() writes the file anew.
  prediction_options predictions = {};
  /// They are for all metrics by name, each of which must have one then (E0103).
  interval_options intervals = {};
};

struct topology_parts;

/// A run as a graph: one source, stages and one or more sinks. Without any edge() each node follows the node added
/// before it, and all sinks follow the last node that is no sink. With edge(), every edge must be given but those
/// inside a pipeline.
///
/// Order: nodes and edges in any order; an edge may name a node that is added later, replicate() may not.
/// Errors: adding never fails and opens no file. check() reports the first mistake and names its node. A run does so
///   before it starts, and reports what only files, data or the machine can tell.
/// Ownership: a topology is a value. Names, options and callables are copied into it and with it; data sets, metrics,
///   modules and stage objects are shared. A run keeps a copy, so that a topology may be changed, run again or
///   destroyed meanwhile. What callables refer to must outlive the run, and an abandoned thread
///   (has_abandoned_threads()).
/// Threads: one thread at a time builds a topology. Its code is called later: factories one after the other on the one
///   that prepares the run, stages and routes on a thread per replica, the data set on the loader's and others. With
///   worker processes each of them makes its own topology, and calls factory, stage and route there.
class topology {
 public:
  topology();
  topology(const topology& other);
  topology(topology&& other) noexcept;
  topology& operator=(const topology& other);
  topology& operator=(topology&& other) noexcept;
  ~topology();

  /// Where samples come from; exactly one. A KIND:PATH is opened by the run.
  topology& source(std::string name, data_choice data);
  /// `what` computes its outputs from its inputs, once per micro-batch.
  topology& stage(const std::string& name, stage_recipe what, const stage_options& options = {});
  /// Stages "NAME 0", "NAME 1"...; edges to and from NAME mean the first and the last of them.
  topology& pipeline(std::string name, model_source model, cut_options options = {});
  /// Reunites in sample order what a route split: `inputs` are its ports, one for each case. E0602 for a sample that
  /// comes twice; one that is missing is waited for. A stage with several inputs takes what branches made of the same
  /// samples.
  topology& join(std::string name, std::vector<std::string> inputs, stage_options options = {});
  /// Splits each micro-batch by sample: it goes to the first case that takes it. The last case has no predicate and
  /// takes the rest. Each case names an output. Each replica has copies of the predicates, and calls them on its
  /// thread.
  topology& route(std::string name, std::vector<route_case> cases, stage_options options = {});
  /// Scores the samples that reach it with its own metrics. Without metrics it counts samples. Results are in the order
  /// in which sinks were added.
  topology& sink(std::string name, std::vector<metric_choice> metrics, sink_options options = {});

  /// From "node" or "node.port" to "node" or "node.port"; ports left out are "out" and "in".
  topology& edge(const std::string& from, const std::string& to);
  /// Number of copies of a stage, join or route. Copies share the work; the one with free credit gets the next
  /// micro-batch.
  topology& replicate(const std::string& name, std::uint32_t replicas);

  /// Checks everything that needs no file: names, ports, edges, order (E0501 to E0506), devices (E0103), dtypes,
  /// threads.
  [[nodiscard]] expected<void> check() const;

  /// The graph as text, with a warning for each join whose shorter branch has too few slots. Throws error_exception
  /// where check() gives an error.
  [[nodiscard]] std::string picture() const;
  /// The same as SVG.
  [[nodiscard]] std::string svg() const;

  /// For the library alone: what a run reads.
  [[nodiscard]] const topology_parts& parts() const noexcept { return *parts_; }

 private:
  std::unique_ptr<topology_parts> parts_;
};

}  // namespace troupe
