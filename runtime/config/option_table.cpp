#include "runtime/config/option_table.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "messages/limits.hpp"
#include "runtime/config/option_names.hpp"
#include "runtime/data/data_kinds.hpp"
#include "runtime/metric/metric_table.hpp"

namespace troupe {
namespace {

using seconds = std::chrono::duration<double>;
using std::chrono::round;

/// Get and set of the member at the end of a path of members. It has the type of its option value, or converts to it
/// (all counts fit std::int64_t, since check_value has seen them).
template <class Held, auto... Path>
struct plain {
  static option_value get(const eval_options& options) { return static_cast<Held>((options.*....*Path)); }
  static void set(eval_options& options, const option_value& value) {
    auto& member = (options.*....*Path);
    member = static_cast<std::remove_reference_t<decltype(member)>>(std::get<Held>(value));
  }
};

template <class Held, auto... Path>
struct optional {
  static option_value get(const eval_options& options) {
    const auto& member = (options.*....*Path);
    return member ? option_value(static_cast<Held>(*member)) : std::monostate{};
  }
  static void set(eval_options& options, const option_value& value) {
    auto& member = (options.*....*Path);
    using member_type = typename std::remove_reference_t<decltype(member)>::value_type;
    const Held* given = std::get_if<Held>(&value);
    member = given ? std::optional<member_type>(static_cast<member_type>(*given)) : std::nullopt;
  }
};

/// A std::chrono time, in seconds outside of C++.
template <auto... Path>
struct duration {
  static option_value get(const eval_options& options) { return seconds((options.*....*Path)).count(); }
  static void set(eval_options& options, const option_value& value) {
    auto& member = (options.*....*Path);
    member = round<std::remove_reference_t<decltype(member)>>(seconds(std::get<double>(value)));
  }
};

template <auto... Path>
struct optional_duration {
  static option_value get(const eval_options& options) {
    const auto& member = (options.*....*Path);
    return member ? option_value(seconds(*member).count()) : std::monostate{};
  }
  static void set(eval_options& options, const option_value& value) {
    auto& member = (options.*....*Path);
    using member_type = typename std::remove_reference_t<decltype(member)>::value_type;
    const double* given = std::get_if<double>(&value);
    member = given ? std::optional(round<member_type>(seconds(*given))) : std::nullopt;
  }
};

/// Not asked for is no false: a transport then decides itself.
struct checksums {
  static option_value get(const eval_options& options) { return options.run.workers.checksums.value_or(false); }
  static void set(eval_options& options, const option_value& value) {
    options.run.workers.checksums = std::get<bool>(value) ? std::optional(true) : std::nullopt;
  }
};

struct optimize {
  static option_value get(const eval_options& options) { return optimize_name(options.optimize); }
  static void set(eval_options& options, const option_value& value) {
    options.optimize = optimize_of(std::get<std::string>(value));
  }
};

struct layers {
  static option_value get(const eval_options& options) { return layers_name(options.layers); }
  static void set(eval_options& options, const option_value& value) {
    options.layers = layers_of(std::get<std::string>(value));
  }
};

struct transport {
  static option_value get(const eval_options& options) { return transport_name(options.run.workers.transport); }
  static void set(eval_options& options, const option_value& value) {
    options.run.workers.transport = transport_of(std::get<std::string>(value));
  }
};

struct extra_of_predictions {
  static option_value get(const eval_options& options) { return prediction_extra_name(options.predictions.with); }
  static void set(eval_options& options, const option_value& value) {
    options.predictions.with = prediction_extra_of(std::get<std::string>(value));
  }
};

struct format_of_log {
  static option_value get(const eval_options& options) { return log_format_name(options.run.log.format); }
  static void set(eval_options& options, const option_value& value) {
    options.run.log.format = log_format_of(std::get<std::string>(value));
  }
};

struct level_of_log {
  static option_value get(const eval_options& options) {
    return level_name(options.run.log.level.value_or(log_level::warning));
  }
  static void set(eval_options& options, const option_value& value) {
    options.run.log.level = log_level_of(std::get<std::string>(value));
  }
};

struct faults {
  static option_value get(const eval_options& options) { return options.run.faults.texts(); }
  static void set(eval_options& options, const option_value& value) {
    options.run.faults = {};
    for (const std::string& each : std::get<std::vector<std::string>>(value)) options.run.faults.add(each);
  }
};

using words = std::vector<std::string>;

void check_dtype(const option_value& value, std::vector<value_problem>& problems) {
  check_name(value, "dtype", {"auto", "float32", "float16", "bfloat16"}, problems);
}

template <class Access>
constexpr option row(std::string_view name, option_kind kind, std::string_view value_name, double minimum,
                     double maximum, std::string_view example, std::string_view help,
                     void (*check)(const option_value&, std::vector<value_problem>&) = nullptr) {
  return {name, kind, value_name, minimum, maximum, example, help, &Access::get, &Access::set, check};
}

constexpr double limit_max = 9007199254740992.0;  // 2^53: every count up to here is exact in JSON readers, too.

/// The lists of names are those of the tables: a new row there is all that they need.
const std::string data_help = "Data: " + data_forms();
const std::string metrics_help = "Metrics: " + metric_list();

using o = eval_options;
using r = run_options;
using w = worker_options;
using k = option_kind;
const std::array options_in_order = {
    row<plain<std::string, &o::model>>("model", k::text, "FILE", 0, 0, "data/mnist/lenet.pt",
                                       "Model: a file of torch.export or TorchScript, or a folder with config.json"),
    row<plain<std::string, &o::weights>>("weights", k::text, "FILE", 0, 0, "resnet20.pth",
                                         "Weights for --arch, or in place of the model's own: state dict, safetensors"),
    row<plain<std::string, &o::arch>>("arch", k::text, "NAME", 0, 0, "resnet20-cifar",
                                      "Architecture that the weights are for, such as resnet50 (docs/weights.md)"),
    row<plain<bool, &o::not_strict>>("not_strict", k::toggle, "", 0, 0, "true",
                                     "Take weights with tensors that no layer needs"),
    row<plain<std::string, &o::data>>("data", k::text, "KIND:PATH", 0, 0, "mnist:data/mnist", data_help,
                                      &check_data_kind),
    row<plain<std::int64_t, &o::run, &r::data_workers>>("data_workers", k::count, "N", 1, limits::data_workers_max, "2",
                                                        "Threads that read and decode the data"),
    row<plain<std::int64_t, &o::stages>>("stages", k::count, "S", 1, limits::stages_max, "4",
                                         "Stages that the model is cut into"),
    row<plain<std::int64_t, &o::replicas>>("replicas", k::count, "R", 1, limits::replicas_max, "2",
                                           "Copies of the whole pipeline, which share the data"),
    row<plain<std::int64_t, &o::run, &r::micro_batch>>("micro_batch", k::count, "B", 1, limits::micro_batch_max, "64",
                                                       "Samples per micro-batch"),
    row<optional<std::int64_t, &o::run, &r::threads>>(
        "threads", k::count_or_auto, "N|auto", 1, limits::threads_max, "1",
        "Intra-op threads per stage; auto is max(1, cores / (stages x replicas))"),
    row<layers>("layers", k::text, "KIND", 0, 0, "modules",
                "What stages begin and end with: modules of the model, or operators", &check_layers),
    row<optimize>("optimize", k::text, "MODE", 0, 0, "graph",
                  "Rewrite the graph of the model, so that it runs faster: graph, or none", &check_optimize_mode),
    row<plain<std::string, &o::partition>>(
        "partition", k::text, "METHOD", 0, 0, "auto",
        "Where to cut: auto, uniform, parameters, type:REGEX, profile, or boundaries such as 0,4,15",
        &check_partition_method),
    row<optional<std::int64_t, &o::num_pipe_buffers>>(
        "num_pipe_buffers", k::count_or_auto, "N|auto", 1, limits::pipe_buffers_max, "2",
        "Micro-batches on their way to a stage and in it (its credits); auto is 2, and more where they are small"),
    row<plain<std::string, &o::device>>("device", k::text, "NAME", 0, 0, "cuda",
                                        "Where stages compute: cpu, cuda:N, or cuda for all of the machine in turn",
                                        &check_device_name),
    row<plain<bool, &o::cuda_graphs>>("cuda_graphs", k::toggle, "", 0, 0, "true",
                                      "Record what each stage gives its GPU, once per shape, and repeat it as a whole"),
    row<plain<std::string, &o::dtype>>("dtype", k::text, "NAME", 0, 0, "bfloat16",
                                       "Cast the model and its inputs: float32, float16 or bfloat16; auto leaves both",
                                       &check_dtype),
    row<plain<words, &o::metrics>>("metrics", k::list, "A,B", 0, 0, "accuracy,cross_entropy", metrics_help,
                                   &check_metric_names),
    row<plain<std::string, &o::score_output>>("score_output", k::text, "NAME", 0, 0, "logits",
                                              "Which of several outputs of the model the metrics score"),
    row<plain<std::string, &o::score_label>>("score_label", k::text, "NAME", 0, 0, "end",
                                             "Which of several labels of the data the metrics score it against"),
    row<plain<std::string, &o::predictions, &prediction_options::file>>(
        "predictions", k::text, "FILE", 0, 0, "predictions.jsonl",
        "Write what the model says of each sample: FILE.jsonl, FILE.npy, or FILE.json of a task",
        &check_prediction_file),
    row<extra_of_predictions>("predictions_with", k::text, "VALUES", 0, 0, "probabilities",
                              "What stands beside each prediction: none, probabilities or outputs",
                              &check_prediction_extra),
    row<optional<double, &o::confidence>>("confidence", k::seconds, "LEVEL", limits::confidence_min,
                                          limits::confidence_max, "0.95",
                                          "Give each metric a confidence interval of this level, by resampling"),
    row<plain<std::int64_t, &o::bootstrap_resamples>>("bootstrap_resamples", k::count, "N", limits::resamples_min,
                                                      limits::resamples_max, "1000",
                                                      "Resamples of a confidence interval"),
    row<plain<std::int64_t, &o::bootstrap_seed>>("bootstrap_seed", k::count, "N", 0, limits::seed_max, "0",
                                                 "Seed of the resamples"),
    row<plain<bool, &o::allow_effects>>("allow_effects", k::toggle, "", 0, 0, "true",
                                        "Take a model that prints, touches files or uses unknown operators"),
    row<plain<bool, &o::allow_random>>("allow_random", k::toggle, "", 0, 0, "true",
                                       "Take a model that gives other results for the same input, with a warning"),
    row<optional<std::int64_t, &o::run, &r::limit>>("limit", k::count, "N", 1, limit_max, "1000",
                                                    "Evaluate only the first N samples"),
    row<plain<bool, &o::run, &r::workers, &w::enabled>>(
        "processes", k::toggle, "", 0, 0, "true",
        "Run every stage replica in a worker process of its own; a worker that dies is replaced"),
    row<transport>("transport", k::text, "KIND", 0, 0, "auto",
                   "What carries micro-batches between stages: auto, inproc, shm, tcp or nccl", &check_transport),
    row<duration<&o::run, &r::workers, &w::timeout>>("worker_timeout", k::seconds, "SECONDS",
                                                     limits::worker_timeout_min, limits::deadline_seconds_max, "10",
                                                     "A worker that says nothing for so long is replaced"),
    row<duration<&o::run, &r::workers, &w::start_deadline>>(
        "start_deadline", k::seconds, "SECONDS", limits::worker_timeout_min, limits::deadline_seconds_max, "600",
        "A worker that takes longer to become its stage is replaced"),
    row<optional_duration<&o::run, &r::workers, &w::forward_deadline>>(
        "forward_deadline", k::seconds, "SECONDS", limits::deadline_seconds_min, limits::deadline_seconds_max, "30",
        "Kill and replace a worker whose forward pass takes longer"),
    row<checksums>("checksums", k::toggle, "", 0, 0, "true",
                   "Find flipped bits in what worker processes pass on, in shared memory, too; without it, in tcp "
                   "edges that have no TLS"),
    row<plain<std::string, &o::run, &r::journal, &journal_options::file>>(
        "journal", k::text, "FILE", 0, 0, "run.journal",
        "Keep what is evaluated in this new file, so that --resume can go on with it"),
    row<plain<bool, &o::run, &r::journal, &journal_options::resume>>(
        "resume", k::toggle, "", 0, 0, "true", "Go on with the journal of a run that ended before it was done"),
    row<optional_duration<&o::run, &r::deadline>>(
        "deadline", k::seconds, "SECONDS", limits::deadline_seconds_min, limits::deadline_seconds_max, "60",
        "End after this time with what is done, labelled partial, and status 124"),
    row<faults>("fault", k::faults, "FAULT", 0, 0, "kill:stage=stage.1,at=mb17",
                "Inject this fault (docs/faults.md); may be repeated", &check_faults),
    row<plain<std::string, &o::output>>("output", k::text, "DIR", 0, 0, "out",
                                        "Write result.json (and trace.jsonl) there"),
    row<plain<std::string, &o::log_scalars>>(
        "log_scalars", k::text, "TARGET", 0,
        0, "scalars.csv", "Write the metrics for TensorBoard to this folder, or to a .csv or .jsonl"),
    row<optional<std::int64_t, &o::log_step>>("log_step", k::count, "N", 0, limit_max, "1000",
                                              "The step that --log-scalars writes, in place of that in the name"),
    row<plain<std::string, &o::run, &r::log, &log_options::file>>("log", k::text, "FILE", 0, 0, "run.log",
                                                                  "Append the log to this file, and not to stderr"),
    row<format_of_log>("log_format", k::text, "FORMAT", 0, 0, "text", "Lines of the log: text, or json objects",
                       &check_log_format),
    row<level_of_log>("log_level", k::text, "LEVEL", 0, 0, "info",
                      "Log from this level on: debug, info, warning, error", &check_log_level),
    row<plain<bool, &o::json>>("json", k::toggle, "", 0, 0, "true",
                               "Print the result as one JSON object, and nothing else, on stdout"),
    row<plain<bool, &o::run, &r::trace>>("trace", k::toggle, "", 0, 0, "true",
                                         "Record who did what when, and write DIR/trace.jsonl (needs --output)"),
};

}  // namespace

std::span<const option> all_options() {
  return options_in_order;
}

const option* find_option(std::string_view name) {
  const auto found = std::find_if(options_in_order.begin(), options_in_order.end(),
                                  [&](const option& candidate) { return candidate.name == name; });
  return found == options_in_order.end() ? nullptr : &*found;
}

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  names.reserve(options_in_order.size());
  for (const option& each : options_in_order) names.emplace_back(each.name);
  return names;
}

}  // namespace troupe
