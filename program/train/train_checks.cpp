#include <chrono>
#include <cmath>
#include <string>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/train/trainer_state.hpp"
#include "runtime/report/single_value.hpp"
#include "runtime/watch/monitored_value.hpp"
#include <troupe/limits.hpp>

namespace troupe {
namespace {

tl::unexpected<error> train_contradiction(const char* option, const char* why, const char* fix) {
  return fail(error_code::flags_contradict, option, why, fix);
}

expected<void> check_end(const train_options& options) {
  if (options.steps && options.epochs) {
    return train_contradiction("epochs", "the number of steps is given, too", "leave out one of steps and epochs");
  }
  if (!options.steps && !options.epochs) {
    return fail(error_code::missing_flag, "steps", "nothing says when the training ends",
                "give steps or epochs (--steps N, --epochs N)");
  }
  if (options.steps.value_or(1) == 0 || options.epochs.value_or(1) == 0) {
    return fail(error_code::value_out_of_range, options.steps ? "steps" : "epochs", "it is 0", "ask for at least 1");
  }
  return {};
}

/// As an evaluation has them, too.
expected<void> check_model_names(const train_options& options) {
  if (!options.arch.empty() && !options.model.empty()) {
    return train_contradiction("arch", "a model is given, too", "leave out --model or --arch");
  }
  if (!options.arch.empty() && options.weights.empty()) {
    return fail(error_code::missing_flag, "weights", "an architecture is given, and no weights for it",
                "add --weights FILE");
  }
  if (options.arch.empty() && options.model.empty() && !options.weights.empty()) {
    return fail(
        error_code::missing_flag, "model", "weights are given, and no model for them",
        "add --arch NAME for an architecture that is built in, or --model FILE for an exported model; where the "
        "weights have a config.json beside them, give that folder alone: --model FOLDER");
  }
  return {};
}

expected<void> check_model_and_data(const train_options& options, const train_objects& objects) {
  const bool is_named = !options.model.empty() || !options.arch.empty() || !options.weights.empty();
  if (objects.module && is_named) {
    return train_contradiction("model", "it is given by name and as a module", "leave one of them out");
  }
  if (!objects.module && !is_named) {
    return fail(error_code::missing_flag, "model", "no model is given",
                "add --model FILE, or --arch NAME and --weights FILE");
  }
  TROUPE_TRY(check_model_names(options));
  if (objects.data && !options.data.empty()) {
    return train_contradiction("data", "it is given by name and as an object", "leave one of them out");
  }
  if (!objects.data && options.data.empty()) {
    return fail(error_code::missing_flag, "data", "no data is given", "add --data KIND:PATH");
  }
  if (objects.eval_data && !options.eval_data.empty()) {
    return train_contradiction("eval_data", "it is given by name and as an object", "leave one of them out");
  }
  return {};
}

/// Options that need another one, which is not there.
expected<void> check_needs(const train_options& options, bool evaluates) {
  if (!evaluates && options.eval_every) {
    return train_contradiction("eval_every", "there are no data to evaluate", "add --eval-data KIND:PATH");
  }
  if (!evaluates && options.patience) {
    return train_contradiction("patience", "there are no data to evaluate", "add --eval-data KIND:PATH");
  }
  if (options.patience && options.metrics.empty()) {
    return train_contradiction("patience", "there is no metric that could become better", "add --metrics NAME");
  }
  if (options.save.empty() && (options.save_every || options.resume)) {
    return train_contradiction(options.resume ? "resume" : "save_every", "there is no folder for checkpoints",
                               "add --save DIR");
  }
  return {};
}

expected<void> check_counts(const train_options& options) {
  const auto is_zero = [](const std::optional<std::uint64_t>& count) { return count && *count == 0; };
  if (is_zero(options.eval_every) || is_zero(options.save_every) || is_zero(options.patience)) {
    const char* const name = is_zero(options.eval_every)   ? "eval_every"
                             : is_zero(options.save_every) ? "save_every"
                                                           : "patience";
    return fail(error_code::value_out_of_range, name, "it is 0", "ask for at least 1, or leave it out");
  }
  if (options.run.micro_batch == 0 || options.run.micro_batch > limits::micro_batch_max) {
    return fail(error_code::value_out_of_range, "micro_batch",
                "expected 1 to " + std::to_string(limits::micro_batch_max) + " samples", "set it to 64");
  }
  if (options.run.data_workers == 0 || options.run.data_workers > limits::data_workers_max) {
    return fail(error_code::value_out_of_range, "data_workers",
                "expected 1 to " + std::to_string(limits::data_workers_max), "set it to 1");
  }
  constexpr std::chrono::duration<double> longest{limits::deadline_seconds_max};
  if (options.run.deadline &&
      !(*options.run.deadline > std::chrono::nanoseconds{0} && *options.run.deadline <= longest)) {
    return fail(error_code::value_out_of_range, "deadline", "expected more than 0 and at most 366 days",
                "leave it out, or give a time in between");
  }
  if (options.run.limit && *options.run.limit == 0) {
    return fail(error_code::value_out_of_range, "limit", "it is 0", "ask for at least 1");
  }
  if (options.seed > limits::seed_max) {
    return fail(error_code::value_out_of_range, "seed", "it is more than " + std::to_string(limits::seed_max),
                "choose a smaller one");
  }
  return {};
}

expected<void> check_not_here(const train_options& options) {
  if (!options.output.empty() || options.json) {
    return train_contradiction(options.json ? "json" : "output", "a trainer writes and prints nothing",
                               "leave it out, and write train_json() of the result");
  }
  if (options.run.trace) {
    return train_contradiction("trace", "a training records none", "leave it out, or use a training_engine");
  }
  if (!options.run.journal.file.empty() || options.run.journal.resume) {
    return train_contradiction("journal", "it is of one evaluation", "leave it out, and name a folder to save in");
  }
  return {};
}

training_options training_options_of(const train_options& options) {
  training_options made;
  made.num_micro_batches = options.num_micro_batches;
  made.optimizer = options.optimizer;
  made.clip_norm = options.clip_norm;
  made.seed = options.seed;
  made.recompute_interval = options.recompute_interval;
  return made;
}

}  // namespace

expected<void> check_train_options(const train_options& options, const train_objects& objects) {
  TROUPE_TRY(check_end(options));
  TROUPE_TRY(check_model_and_data(options, objects));
  TROUPE_TRY(check_needs(options, objects.eval_data || !options.eval_data.empty()));
  TROUPE_TRY(check_counts(options));
  return check_not_here(options);
}

expected<training_engine_options> engine_options_of(const train_options& options, const train_objects& objects,
                                                    const train_hooks& hooks) {
  training_engine_options made;
  made.training = training_options_of(options);
  auto loss = objects.loss;
  if (!loss) loss = TROUPE_TRY(training_loss_of(options.loss));
  made.training.loss = std::move(loss);
  made.training.protect = TROUPE_TRY(protection_of(options.protect));
  made.training.learning_rate = TROUPE_TRY(learning_rate_of(options.lr, options.schedule));
  pipeline_engine_options& pipeline = made.pipeline;
  pipeline.run = options.run;
  // Samples, time and threads of reading are the trainer's.
  pipeline.run.limit.reset();
  pipeline.run.deadline.reset();
  pipeline.replicas = options.replicas;
  if (!objects.module || options.stages != 1) pipeline.stages = options.stages;
  if (!objects.module || options.partition != "auto") pipeline.partition = options.partition;
  pipeline.layers = options.layers;
  pipeline.num_pipe_buffers = options.num_pipe_buffers;
  pipeline.allow_effects = options.allow_effects;
  pipeline.allow_random = options.allow_random;
  pipeline.score = {.tensor = options.score_output, .label = options.score_label};
  pipeline.metrics.assign(options.metrics.begin(), options.metrics.end());
  pipeline.on_log = hooks.on_log;
  return made;
}

bool is_better(const std::string& metric, double value, double than) {
  if (std::isnan(than)) return !std::isnan(value);
  return is_loss(metric) ? value < than : value > than;
}

const train_evaluation* best_of(const std::vector<train_evaluation>& evaluations) {
  const train_evaluation* best = nullptr;
  for (const train_evaluation& each : evaluations) {
    const auto& newest = evaluations.back().metrics;
    if (each.metrics.empty() || newest.empty()) continue;
    const metric_value& first = each.metrics.front();
    if (first.name != newest.front().name || !has_single_value(first)) continue;
    if (best == nullptr || is_better(first.name, first.value(), best->metrics.front().value())) best = &each;
  }
  return best;
}

}  // namespace troupe
