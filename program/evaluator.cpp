#include <exception>
#include <utility>

#include "messages/exception_text.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/launch/process_context.hpp"
#include "program/run/abandoned_threads.hpp"
#include "program/run/evaluation_run.hpp"
#include "program/run/run_log.hpp"
#include "program/run/side_thread.hpp"
#include "program/start/prepared_run.hpp"
#include "program/start/run_checks.hpp"
#include "program/start/serve_run.hpp"
#include "program/topology/eval_topology.hpp"
#include <troupe/evaluator.hpp>

namespace troupe {
namespace {

using steady = std::chrono::steady_clock;

/// Prepares on a thread of its own, as a model in this process cannot be interrupted.
expected<prepared_run> prepare_in_time(const eval_options& config, const std::optional<steady::time_point>& deadline,
                                       std::function<expected<prepared_run>(const std::stop_token& stop)> prepare) {
  const auto made = std::make_shared<std::optional<expected<prepared_run>>>();
  auto thread = TROUPE_TRY(side_thread::start(model_name(config), [made, prepare = std::move(prepare)](
                                                                      const std::stop_token& stop) {
    try {
      made->emplace(prepare(stop));
    } catch (...) {
      made->emplace(fail(error_code::internal, "preparation", current_exception_text(), "report this with the model"));
    }
  }));
  const bool in_time = thread.has_ended(deadline);
  const bool ended = thread.end_by(steady::now() + limits::preparation_stop_time);
  if (!in_time || !ended) return tl::make_unexpected(deadline_error(config));
  return std::move(**made);
}

expected<void> check_format(const log_options& log, const evaluation_hooks& hooks) {
  if (log.format == log_format::text || !log.file.empty() || !hooks.on_log) return {};
  return fail(error_code::flags_contradict, "log.format", "the hook on_log gets records, and no line is written",
              "leave the format out, or name a file");
}

}  // namespace

struct evaluator::impl {
  /// First, as it is last to go: until then its hooks may get something.
  std::shared_ptr<hook_caller> caller;
  started_run stages;
  bool records = false;
  bool has_run = false;
  std::unique_ptr<evaluation_run> call;
  bool stuck = false;

  impl() = default;
  impl(const impl&) = delete;
  impl& operator=(const impl&) = delete;
  ~impl() { caller->finish(limits::hooks_finish_time); }
};

expected<std::unique_ptr<evaluator>> evaluator::create_for(run_request request, evaluation_hooks hooks) {
  const process_context& process = process_context::of_this_process();
  serve_if_asked(request, process);
  adapt_to_launch(request.options, request.config, process);
  auto run = TROUPE_TRY(check_run(request.what, request.options, process, model_name(request.config)));
  const auto deadline = request.options.deadline ? std::optional(steady::now() + *request.options.deadline)
                                                 : std::optional<steady::time_point>();
  TROUPE_TRY(check_format(request.options.log, hooks));
  const auto log = TROUPE_TRY(run_log::open(request.options.log));
  auto caller = TROUPE_TRY(hook_caller::start(log.attach(std::move(hooks))));
  auto state = std::make_unique<impl>();
  state->caller = std::move(caller);
  const log_function to_log = [to = state->caller](log_record record) { to->put(std::move(record)); };
  eval_options config = std::move(request.config);
  auto prepared =
      TROUPE_TRY(prepare_in_time(config, deadline, [run = std::move(run), to_log](const std::stop_token& stop) {
        return prepare_run(run, to_log, stop);
      }));
  config.run.threads = prepared.threads;
  if (request.shows_buffers && !config.num_pipe_buffers) config.num_pipe_buffers = buffers_between(prepared.stages);
  state->stages = prepared.stages;
  state->records = request.options.trace;
  state->call = std::make_unique<evaluation_run>(evaluation_run::parts{.stages = std::move(prepared.stages),
                                                                       .call = std::move(prepared.call),
                                                                       .config = std::move(config),
                                                                       .caller = state->caller,
                                                                       .journal = std::move(prepared.journal),
                                                                       .deadline = deadline});
  return std::unique_ptr<evaluator>(new evaluator(std::move(state)));
}

expected<std::unique_ptr<evaluator>> evaluator::create(const eval_options& options, evaluation_hooks hooks,
                                                       const eval_objects& objects) {
  if (objects.data && !options.data.empty()) {
    return fail(error_code::flags_contradict, "data", "it is given by name and as an object", "leave one of them out");
  }
  if (!options.output.empty() || options.json) {
    return fail(error_code::flags_contradict, options.json ? "json" : "output",
                "an evaluator writes and prints nothing", "leave it out, and write result_json() of the result");
  }
  if (!options.log_scalars.empty() || options.log_step) {
    return fail(error_code::flags_contradict, options.log_step ? "log_step" : "log_scalars",
                "an evaluator writes and prints nothing", "leave it out, and write scalars_of() the result");
  }
  return create_for(
      {.what = topology_of(options, objects), .options = options.run, .config = options, .shows_buffers = true},
      std::move(hooks));
}

expected<std::unique_ptr<evaluator>> evaluator::create(const topology& what, const run_options& options,
                                                       evaluation_hooks hooks) {
  return create_for({.what = what, .options = options, .config = config_of(what, options)}, std::move(hooks));
}

expected<run_result> run(const topology& what, const run_options& options, evaluation_hooks hooks) {
  auto made = TROUPE_TRY(evaluator::create(what, options, std::move(hooks)));
  return made->run();
}

evaluator::evaluator(std::unique_ptr<impl> state) : impl_(std::move(state)) {}
evaluator::~evaluator() = default;
bool evaluator::stuck() const noexcept {
  return impl_->stuck;
}
void evaluator::request_stop(stop_kind kind) noexcept {
  impl_->call->request_stop(kind);
}

expected<run_result> evaluator::run() {
  if (std::exchange(impl_->has_run, true)) {
    return fail(error_code::engine_stopped, "evaluator", "run() was called before", "create another evaluator");
  }
  evaluation_run& call = *impl_->call;
  running_topology& running = *impl_->stages.running;
  auto result = call.run();
  impl_->stuck = !running.stop(call.was_cancelled() ? stop_mode::abort : stop_mode::drain,
                               call.is_in_a_hurry() ? limits::stop_timeout_in_a_hurry : limits::stop_timeout);
  call.log_what_is_left();
  if (result) result->faults = call.fault_reports();
  if (impl_->stuck) add_abandoned_thread();
  if (impl_->stuck && result) {
    result->errors.push_back(
        {error_code::stage_unresponsive, "eval", "a stage did not come back from its forward", {}});
  }
  if (result && impl_->records && !impl_->stuck) {
    auto trace = trace_of(running.engines());
    if (trace) result->trace = std::move(*trace);
    if (!trace) result = tl::make_unexpected(trace.error());
  }
  if (!impl_->caller->finish(limits::hooks_finish_time)) impl_->stuck = true;
  return result;
}

}  // namespace troupe
