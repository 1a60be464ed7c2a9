#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/engine_state.hpp"
#include "program/models/own_thread.hpp"
#include "program/run/evaluation_run.hpp"
#include "program/train/train_advice.hpp"
#include "program/train/trainer_state.hpp"
#include "runtime/report/single_value.hpp"

namespace troupe {
namespace {

std::string how_to_go_on(const train_options& config) {
  return config.save.empty() ? "give --save DIR next time: then --resume goes on" : "go on with --resume";
}

error interrupted_error(const train_options& config) {
  return {error_code::interrupted, "train", "it was interrupted before all steps were done", how_to_go_on(config)};
}

error late_error(const train_options& config) {
  const std::chrono::duration<double> limit = config.run.deadline.value_or(std::chrono::nanoseconds{0});
  return {error_code::deadline_passed, "train", fmt::format("the deadline of {} s has passed", limit.count()),
          "raise the deadline (--deadline), or " + how_to_go_on(config)};
}

/// Each error once: the loss that ends a training also comes from all that is asked of the engine behind it.
void add_error(const expected<void>& done, std::vector<error>& to) {
  const auto is_told = [&](const error& each) { return to_string(each) == to_string(done.error()); };
  if (!done && std::ranges::none_of(to, is_told)) to.push_back(done.error());
}

/// As many as hold so many.
std::uint64_t parts_of(std::uint64_t whole, std::uint64_t part) {
  return whole / part + (whole % part == 0 ? 0 : 1);
}

}  // namespace

bool trainer::impl::is_done() const {
  return config.steps ? state.steps() >= *config.steps : state.position.epoch >= *config.epochs;
}

bool trainer::impl::is_patience_spent() const {
  const train_evaluation* const best = best_of(state.evaluations);
  if (!config.patience || best == nullptr) return false;
  const auto behind = static_cast<std::uint64_t>(&state.evaluations.back() - best);
  return behind >= *config.patience;
}

bool trainer::impl::is_evaluated() const {
  return !state.evaluations.empty() && state.evaluations.back().step == state.steps();
}

bool trainer::impl::is_due(const std::optional<std::uint64_t>& every) const {
  return every ? state.steps() % *every == 0 : state.position.sample == 0;
}

std::uint64_t trainer::impl::steps_total() const {
  if (config.steps) return *config.steps;
  const std::uint64_t each = parts_of(reader->micro_batches_left({}), config.num_micro_batches);
  const std::uint64_t left = *config.epochs - std::min(*config.epochs, state.position.epoch);
  if (left == 0) return state.steps();
  if (left > std::numeric_limits<std::uint32_t>::max() || each > std::numeric_limits<std::uint32_t>::max()) return 0;
  const std::uint64_t here = parts_of(reader->micro_batches_left(state.position), config.num_micro_batches);
  return state.steps() + here + (left - 1) * each;
}

/// Any end that was asked for: after a step.
std::optional<error> trainer::impl::stop_request() const {
  if (stop_kind_asked()) return interrupted_error(config);
  if (deadline && clock::now() >= *deadline) return late_error(config);
  return std::nullopt;
}

/// A step counts samples from its own first one, and in the order of the epoch.
error trainer::impl::advised_in_step(error found) const {
  if (const auto micro_batch = micro_batch_of(found)) {
    const epoch_position at = reader->behind(state.position, *micro_batch);
    const bool in_order = config.order == data_order::sequential;
    if (at.epoch == state.position.epoch) found = with_samples(std::move(found), reader->samples_at(at), in_order);
  }
  return advised_of_journal(std::move(found), config.save);
}

expected<void> trainer::impl::step() {
  const std::uint64_t count = std::min(config.num_micro_batches, reader->micro_batches_left(state.position));
  const auto ended = [this]() -> std::optional<error> {
    if (stop_kind_asked() == stop_kind::drain) return std::nullopt;  // this step still ends
    return stop_request();
  };
  const auto begin = clock::now();
  const train_output done =
      TROUPE_TRY(training()
                     .step(std::make_shared<epoch_step>(reader, state.position, count), ended)
                     .map_error([this](error found) { return advised_in_step(std::move(found)); }));
  step_time += clock::now() - begin;
  state.position = reader->behind(state.position, count);
  state.losses.push_back(done.loss);
  state.learning_rates.push_back(done.learning_rate);
  state.applied = engine->global_steps();
  samples += done.samples;
  micro_batches += done.micro_batches;
  return {};
}

/// The options of a run hold for the call alone.
expected<void> trainer::impl::evaluate() {
  run_options& how = training().engine->impl_->checked.options;
  if (deadline)
    how.deadline = std::max<std::chrono::nanoseconds>(*deadline - clock::now(), std::chrono::nanoseconds{1});
  const auto ended = [this] { return stop_request(); };
  TROUPE_TRY(training().recover(ended));
  auto made = evaluate_once();
  while (training().note_loss(made)) {
    TROUPE_TRY(training().recover(ended));
    made = evaluate_once();
  }
  if (!made) return tl::make_unexpected(std::move(made.error()));
  if (made->partial) {
    if (const auto stop = stop_request()) return tl::make_unexpected(*stop);
    return tl::make_unexpected(made->errors.empty() ? interrupted_error(config) : made->errors.front());
  }
  for (std::string& each : made->warnings) {
    if (std::ranges::find(warnings, each) == warnings.end()) warnings.push_back(std::move(each));
  }
  state.evaluations.push_back({.step = state.steps(), .samples = made->samples, .metrics = std::move(made->metrics)});
  report(true);
  return {};
}

/// request_stop() ends it.
expected<run_result> trainer::impl::evaluate_once() {
  const auto set_evaluating = [this](bool now) {
    const std::lock_guard lock(mutex);
    is_evaluating = now;
  };
  set_evaluating(true);
  const auto stop = stop_request();
  auto made = stop ? expected<run_result>(tl::make_unexpected(*stop)) : training().engine->evaluate(eval_data);
  set_evaluating(false);
  return made;
}

expected<void> trainer::impl::try_metrics() {
  run_options& how = training().engine->impl_->checked.options;
  how.limit = config.run.micro_batch;
  const auto made = engine->evaluate(eval_data);
  how.limit.reset();
  if (!made) return tl::make_unexpected(made.error());
  if (!config.patience || has_single_value(made->metrics.front())) return {};
  return fail(error_code::flags_contradict, "patience",
              "the metric " + made->metrics.front().name + " is no single number that could become better",
              "name another one first (--metrics)");
}

/// Steps go on while its files are written.
expected<void> trainer::impl::begin_save() {
  TROUPE_TRY(end_save());
  const std::string tag = fmt::format("global_step{}", state.steps());
  saving = TROUPE_TRY(
      engine->save_checkpoint_async(config.save, tag, to_client_state(state, order)).map_error([this](error found) {
        return advised_to_save(std::move(found), config.save);
      }));
  saved_step = state.steps();
  return {};
}

expected<void> trainer::impl::end_save() {
  if (!saving.valid()) return {};
  return saving.get().map_error([this](error found) { return advised_to_save(std::move(found), config.save); });
}

void trainer::impl::report(bool is_evaluation) const {
  if (!hooks.on_progress || state.losses.empty()) return;
  const double seconds = std::chrono::duration<double>(step_time).count();
  const fault_injector* const faults = training().engine->impl_->stages.running->faults();
  const bool has_ended_epoch = state.position.sample == 0 && state.position.epoch > 0;
  try {
    hooks.on_progress({.steps_done = state.steps(),
                       .steps_total = steps_total(),
                       .epoch = state.position.epoch - (has_ended_epoch ? 1 : 0),
                       .loss = state.losses.back(),
                       .learning_rate = state.learning_rates.back(),
                       .samples_per_second = seconds > 0 ? static_cast<double>(samples) / seconds : 0,
                       .faults_injected = faults == nullptr ? 0 : faults->record().injected(),
                       .evaluation = is_evaluation ? &state.evaluations.back() : nullptr});
  } catch (...) {  // a hook's own affair
  }
}

expected<void> trainer::impl::train() {
  const bool saves = !config.save.empty();
  while (!is_done() && !is_patience_spent()) {
    if (const auto stop = stop_request()) return tl::make_unexpected(*stop);
    TROUPE_TRY(step());
    report(false);
    if (eval_data && is_due(config.eval_every)) TROUPE_TRY(evaluate());
    if (saves && is_due(config.save_every)) TROUPE_TRY(begin_save());
  }
  if (eval_data && !is_evaluated()) TROUPE_TRY(evaluate());
  if (saves && saved_step != state.steps()) TROUPE_TRY(begin_save());
  return end_save();
}

void trainer::impl::conclude(train_result& result) {
  add_error(engine->module_state_dict().map([&](state_dict&& all) { weights = std::move(all); }), result.errors);
  if (!weights.empty()) result.weights_sha256 = weights_sha256(weights);
  if (!weights.empty() && !config.save_weights.empty()) {
    const auto saved = in_own_thread("weights", "they could not be written", [&] {
      std::error_code ignored;  // the save gives the reason
      std::filesystem::create_directories(std::filesystem::path(config.save_weights).parent_path(), ignored);
      return save_weights(config.save_weights, weights).map_error([this](error found) {
        if (found.code == error_code::output_unwritable) found.fix += ", and " + how_to_go_on(config);
        return found;
      });
    });
    add_error(saved, result.errors);
  }
  if (const auto ended = end(); !ended) result.errors.push_back(ended.error());
  result.faults = training().faults();
}

expected<void> trainer::impl::end() {
  const auto finished = engine->finish();
  const bool have_hooks_ended = training().engine->impl_->caller->finish(limits::hooks_finish_time);
  stuck = !finished || !have_hooks_ended;
  return finished.map([](const auto&) {});
}

expected<train_result> trainer::impl::run() {
  const started_run& stages = training().engine->impl_->stages;
  const auto before = training().usage();
  const auto begin = clock::now();
  const auto trained = train();
  const bool is_asked = trained || stop_request();
  if (!is_asked && samples == 0) {
    static_cast<void>(end());
    return tl::make_unexpected(trained.error());
  }
  train_result result;
  if (!trained) result.errors.push_back(trained.error());
  const bool saves = !config.save.empty() && stop_kind_asked() != stop_kind::now;
  if (!trained && saves && state.steps() > 0 && saved_step != state.steps()) add_error(begin_save(), result.errors);
  add_error(end_save(), result.errors);
  result.wall_time = clock::now() - begin;
  result.stages =
      stage_reports(*stages.running->engines().accounts, before, training().usage(), result.wall_time, stages.layers);
  conclude(result);
  result.model = model_name;
  result.data = data->name();
  result.left_out = data->left_out();
  result.steps = state.steps();
  result.steps_before = steps_before;
  result.epochs = state.position.epoch;
  result.samples = samples;
  result.micro_batches = micro_batches;
  const train_evaluation* const best = best_of(state.evaluations);
  if (best != nullptr) result.best_step = best->step;
  result.stopped_early = trained && !is_done();
  result.losses = std::move(state.losses);
  result.learning_rates = std::move(state.learning_rates);
  result.evaluations = std::move(state.evaluations);
  result.warnings = std::move(warnings);
  const double seconds = std::chrono::duration<double>(step_time).count();
  result.samples_per_second = seconds > 0 ? static_cast<double>(samples) / seconds : 0;
  result.config = config;
  result.partial = !trained;
  return result;
}

}  // namespace troupe
