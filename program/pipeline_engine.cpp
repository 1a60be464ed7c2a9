#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/engine_checks.hpp"
#include "program/engine_state.hpp"
#include "program/engine_topology.hpp"
#include "program/launch/process_context.hpp"
#include "program/run/abandoned_threads.hpp"
#include "program/run/evaluation_run.hpp"
#include "program/run/fault_blame.hpp"
#include "program/run/run_log.hpp"
#include "program/start/journal_pins.hpp"
#include "program/start/prepared_run.hpp"
#include "program/start/run_checks.hpp"
#include "program/start/serve_run.hpp"
#include "program/topology/topology_parts.hpp"
#include "runtime/data/iterator_source.hpp"
#include "runtime/data/sample_block.hpp"
#include "runtime/journal/open_journal.hpp"
#include "runtime/metric/loss.hpp"
#include "runtime/metric/metric_lookup.hpp"
#include "runtime/metric/packed_score.hpp"
#include "runtime/os/cpu_quota.hpp"
#include <troupe/pipeline_engine.hpp>

namespace troupe {
namespace {

score_content content_of(const loss_request& request) {
  if (!request.keep_outputs) return score_content::loss;
  return request.compute_loss ? score_content::loss_and_outputs : score_content::outputs;
}

bool has_ended(const std::shared_future<call_outcome>& call) {
  return call.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
}

/// An undefined tensor is no sample.
named_tensors sample_of(const named_tensors& given) {
  const bool is_defined = std::ranges::all_of(given, [](const auto& each) { return each.second.defined(); });
  return is_defined ? taken_all(given, false) : named_tensors();
}

}  // namespace

/// Between calls, too: the thread of a call takes records only for its hook.
void pipeline_engine::impl::deliver_log() {
  stages.running->reports().copy_log_to([to = caller, not_now = is_hook_in_place](log_record record) {
    if (!*not_now) to->put(std::move(record));
  });
}

expected<run_result> pipeline_engine::impl::evaluate(const checked_run& of, const data_choice& choice,
                                                     evaluation_hooks hooks,
                                                     std::optional<std::vector<std::string>> told) {
  const auto now = evaluation_run::clock::now();
  const journal_options& kept = of.options.journal;
  if (!kept.file.empty()) {
    TROUPE_TRY(check_journal(kept.file, kept.resume));
  }
  const auto data = TROUPE_TRY(open_choice(choice));
  auto call = TROUPE_TRY(make_call(of, data));
  call->ticket()->in_workers.metrics = std::move(told);
  const bool is_hook_alone = log->is_replaced_by(hooks);
  auto to_hooks = TROUPE_TRY(hook_caller::start(log->attach_to_hook(std::move(hooks))));
  auto journal = TROUPE_TRY(open_journal(of, *data, stages, *call));
  evaluation_run::parts parts{.stages = stages,
                              .call = std::move(call),
                              .config = config,
                              .caller = to_hooks,
                              .journal = std::move(journal),
                              .patience = now + options.call_timeout};
  if (of.options.deadline) parts.deadline = now + *of.options.deadline;
  parts.config.run.micro_batch = of.options.micro_batch;
  parts.config.data = data->name();
  parts.config.metrics.clear();
  for (const metric_choice& each : of.parts().sinks.front().metrics) parts.config.metrics.push_back(name_of(each));
  evaluation_run run(std::move(parts));
  auto result = run_noted(run, is_hook_alone);
  to_hooks->finish(limits::hooks_finish_time);
  static_cast<void>(caller->flush(limits::hooks_finish_time));
  return result;
}

/// stop() finds it, and the log goes to its hook, as long as it runs; also where a metric throws.
expected<run_result> pipeline_engine::impl::run_noted(evaluation_run& run, bool is_hook_alone) {
  struct noted {
    impl& engine;
    ~noted() {
      *engine.is_hook_in_place = false;
      engine.set_evaluating(nullptr);
    }
  };
  const noted until_its_end{*this};
  set_evaluating(&run);
  *is_hook_in_place = is_hook_alone;
  if (const auto asked = stop_asked ? stop_asked() : std::nullopt) run.request_stop(*asked);
  return run.run();
}

call_ticket_ptr pipeline_engine::impl::make_ticket(const std::shared_ptr<loss_fold>& fold,
                                                   const std::shared_ptr<iterator_source>& source,
                                                   const eval_batch_options& call) const {
  const score_content content =
      content_of({.compute_loss = call.compute_loss, .keep_outputs = call.return_logits || !call.compute_loss});
  auto ticket = std::make_shared<call_ticket>();
  ticket->source = source;
  ticket->folds = {fold};
  for (std::size_t sink = 0; sink < options.sinks.size(); ++sink) {
    ticket->folds.push_back(std::make_shared<loss_fold>());
  }
  ticket->make_scorer = [loss = loss, content, score = options.score](std::uint32_t sink) {
    return std::make_shared<loss_scorer>(loss, request_of(content, sink), scored_names{score.tensor, score.label});
  };
  ticket->in_workers.content = content;
  ticket->unpack = [content](score& said) { return unpack(said, request_of(content, said.sink)); };
  return ticket;
}

class eval_future::state {
 public:
  state(std::shared_future<call_outcome> outcome, eval_batch_options options, std::shared_ptr<loss_fold> fold,
        std::shared_ptr<iterator_source> source, call_ticket_ptr ticket, std::weak_ptr<running_topology> running,
        const pipeline_engine_options& engine)
      : outcome_(std::move(outcome)),
        ticket_(std::move(ticket)),
        running_(std::move(running)),
        options_(options),
        fold_(std::move(fold)),
        source_(std::move(source)),
        has_deadline_(engine.run.deadline.value_or(engine.call_timeout) < engine.call_timeout),
        until_(std::chrono::steady_clock::now() + (has_deadline_ ? *engine.run.deadline : engine.call_timeout)) {}
  explicit state(error refused) : refused_(std::move(refused)) {}

  [[nodiscard]] bool ready() const {
    return refused_ || outcome_.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
  }

  [[nodiscard]] expected<eval_output> get() {
    if (refused_) return tl::make_unexpected(*refused_);
    if (!wait()) {
      const std::string limit = has_deadline_ ? "run.deadline" : "call_timeout";
      const error late{error_code::deadline_passed, "eval_batch", "the call took longer than " + limit,
                       "raise " + limit + " of the options, or look for the stage that is stuck"};
      if (const auto running = running_.lock()) running->cancel(ticket_, late);
      return tl::make_unexpected(late);
    }
    const call_outcome& outcome = outcome_.get();
    if (outcome.cause) {
      const auto running = running_.lock();
      return tl::make_unexpected(after_faults(*outcome.cause, running ? running->faults() : nullptr));
    }
    eval_output output;
    output.micro_batches = outcome.tally.folded;
    output.samples = outcome.tally.samples;
    output.exhausted = source_->exhausted();
    output.stopped = !output.exhausted && output.micro_batches < source_->count().value_or(0);
    if (options_.return_logits) output.logits = fold_->outputs();
    TROUPE_TRY(reduce_into(output));
    return output;
  }

 private:
  /// Looks after the run meanwhile: lost work, forwards that take too long. False: the deadline has passed.
  [[nodiscard]] bool wait() {
    for (;;) {
      const auto look = std::chrono::steady_clock::now() + limits::report_interval;
      if (outcome_.wait_until(std::min(look, until_)) == std::future_status::ready) return true;
      if (look >= until_) return false;
      if (const auto running = running_.lock()) running->watch();
    }
  }

  [[nodiscard]] expected<void> reduce_into(eval_output& output) const {
    const bool mean = options_.reduce_output == reduction::avg;
    if (options_.compute_loss && mean) {
      output.loss = fold_->mean_loss();
    } else if (options_.compute_loss) {
      output.losses = fold_->losses();
    } else if (!mean) {
      output.outputs = fold_->outputs();
    } else if (output.micro_batches > 0) {
      auto mean_output = TROUPE_TRY(fold_->mean_outputs());
      output.outputs = {std::move(mean_output)};
    }
    return {};
  }

  std::optional<error> refused_;
  std::shared_future<call_outcome> outcome_;
  call_ticket_ptr ticket_;
  std::weak_ptr<running_topology> running_;
  eval_batch_options options_;
  std::shared_ptr<loss_fold> fold_;
  std::shared_ptr<iterator_source> source_;
  bool has_deadline_ = false;
  std::chrono::steady_clock::time_point until_;
};

eval_future::eval_future(std::unique_ptr<state> s) : state_(std::move(s)) {}
eval_future::eval_future(eval_future&&) noexcept = default;
eval_future& eval_future::operator=(eval_future&&) noexcept = default;
eval_future::~eval_future() = default;
expected<eval_output> eval_future::get() {
  return state_->get();
}
bool eval_future::ready() const {
  return state_->ready();
}

expected<std::unique_ptr<pipeline_engine>> pipeline_engine::start(model_source model, std::string name,
                                                                  pipeline_engine_options options, loss_function loss) {
  const process_context& process = process_context::of_this_process();
  if (!process.state_file.empty()) model = model.with_state(nullptr, process.state_file);
  const topology what = topology_of(model, options);
  run_request request{.what = what,
                      .options = options.run,
                      .config = config_for(what, options, std::move(name)),
                      .first = {sample_of(options.sample), {}}};
  serve_if_asked(request, process, loss);
  adapt_to_launch(request.options, request.config, process);
  options.run.workers.enabled = request.options.workers.enabled;
  auto run = TROUPE_TRY(check_run(what, request.options, process, request.config.model));
  TROUPE_TRY(check_call_options(options));
  run.options.threads = request.config.run.threads = threads_of(what, run.options, cores_to_use());
  end_idle_fork_server(run);
  TROUPE_TRY(check_resources(run));
  auto state = std::make_unique<impl>(std::move(run));
  auto log = TROUPE_TRY(run_log::open(options.run.log));
  state->caller = TROUPE_TRY(hook_caller::start(log.attach({.on_progress = {}, .on_log = options.on_log})));
  state->log = std::move(log);
  state->first = std::move(request.first);
  state->fingerprint = state->checked.fingerprint();
  TROUPE_TRY(state->start(state->checked));
  if (!request.config.num_pipe_buffers) request.config.num_pipe_buffers = buffers_between(state->stages);
  state->model = std::move(model);
  state->config = std::move(request.config);
  state->options = std::move(options);
  state->loss = std::move(loss);
  return std::unique_ptr<pipeline_engine>(new pipeline_engine(std::move(state)));
}

expected<std::unique_ptr<pipeline_engine>> pipeline_engine::create(const std::string& model,
                                                                   pipeline_engine_options options,
                                                                   loss_function loss) {
  return start(model, model, std::move(options), std::move(loss));
}

expected<std::unique_ptr<pipeline_engine>> pipeline_engine::create(const model_with_weights& model,
                                                                   pipeline_engine_options options,
                                                                   loss_function loss) {
  const std::string& name = model.model.empty() ? model.weights : model.model;
  return start(model, name, std::move(options), std::move(loss));
}

expected<std::unique_ptr<pipeline_engine>> pipeline_engine::create(const pipeline_module& module,
                                                                   pipeline_engine_options options) {
  if (module.layers.empty()) {
    return fail(error_code::topology_invalid, "pipeline_module", "there is no layer", "give it layers");
  }
  const auto shape = TROUPE_TRY(shape_of(module, options.replicas.value_or(1)));
  TROUPE_TRY(check_module_options(options, shape));
  options.stages = shape.stages;
  options.replicas = shape.replicas;
  options.partition = module.partition_method;
  return start(module.layers, "pipeline_module", std::move(options), module.loss_fn);
}

pipeline_engine::pipeline_engine(std::unique_ptr<impl> state) : impl_(std::move(state)) {}
pipeline_engine::~pipeline_engine() = default;

expected<eval_output> pipeline_engine::eval_batch(data_iterator data, eval_batch_options options) {
  return eval_batch_async(std::move(data), options).get();
}

eval_future pipeline_engine::eval_batch_async(data_iterator data, eval_batch_options options) {
  const auto refuse = [](error cause) { return eval_future{std::make_unique<eval_future::state>(std::move(cause))}; };
  if (const auto fine = check_batch_call(impl_->options); !fine) return refuse(fine.error());
  data_iterator from = data ? std::move(data) : data_;
  if (!from) {
    return refuse({error_code::source_failed, "eval_batch", "there is no iterator",
                   "give eval_batch one, or call set_dataiterator first"});
  }
  const std::uint64_t count = options.num_micro_batches.value_or(impl_->options.num_micro_batches);
  if (count == 0) {
    return refuse({error_code::value_out_of_range, "eval_batch", "num_micro_batches is 0", "ask for at least 1"});
  }
  if (options.compute_loss && !impl_->loss) {
    return refuse({error_code::metric_failed, "eval_batch", "a loss was asked for and there is no loss function",
                   "give the engine a loss function, or set compute_loss = false"});
  }
  auto fold = std::make_shared<loss_fold>();
  auto source = std::make_shared<iterator_source>(std::move(from), transform_, count, options.constant_batches);
  auto ticket = impl_->make_ticket(fold, source, options);
  std::shared_future<call_outcome> outcome = impl_->stages.running->submit(ticket).share();
  std::erase_if(impl_->open_calls, [](const auto& each) { return has_ended(each); });
  impl_->open_calls.push_back(outcome);
  return eval_future{std::make_unique<eval_future::state>(std::move(outcome), options, std::move(fold),
                                                          std::move(source), std::move(ticket), impl_->stages.running,
                                                          impl_->options)};
}

expected<run_result> pipeline_engine::evaluate(const data_choice& data, std::uint64_t micro_batch,
                                               const std::vector<metric_choice>& metrics, evaluation_hooks hooks) {
  auto told = TROUPE_TRY(metrics_to_tell(impl_->options, metrics));
  run_options how = impl_->checked.options;
  how.micro_batch = micro_batch;
  pipeline_engine_options others = impl_->options;
  others.metrics = metrics;
  const auto of =
      TROUPE_TRY(check_run(topology_of(*impl_->model, others), how, *impl_->checked.process, impl_->checked.name));
  return impl_->evaluate(of, data, std::move(hooks), std::move(told));
}

expected<run_result> pipeline_engine::evaluate(const data_choice& data, evaluation_hooks hooks) {
  return impl_->evaluate(impl_->checked, data, std::move(hooks));
}

void pipeline_engine::request_stop(stop_kind kind) noexcept {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->evaluating != nullptr) {
    impl_->evaluating->request_stop(kind);
  } else {
    impl_->stages.running->cut_calls();
  }
}

expected<std::vector<trace_event>> pipeline_engine::finish() {
  impl_->is_finished = true;
  running_topology& running = *impl_->stages.running;
  if (!running.stop(stop_mode::drain, limits::stop_timeout)) {
    add_abandoned_thread();
    return fail(error_code::stage_unresponsive, "finish", "a stage did not come back from its forward");
  }
  static_cast<void>(impl_->caller->flush(limits::hooks_finish_time));
  return impl_->options.run.trace ? trace_of(running.engines()) : std::vector<trace_event>{};
}

std::uint32_t pipeline_engine::num_stages() const noexcept {
  return impl_->config.stages;
}

}  // namespace troupe
