#include "program/pipeline_engine.hpp"

#include <utility>

#include "messages/limits.hpp"
#include "program/evaluation.hpp"
#include "program/model_pipeline.hpp"
#include "program/run_checks.hpp"
#include "runtime/engine/engine_thread.hpp"

namespace troupe {
namespace {

eval_options layout_of(const pipeline_engine_options& options) {
  eval_options layout;
  layout.stages = options.stages;
  layout.replicas = options.replicas;
  layout.threads = options.threads;
  return layout;
}

std::uint32_t threads_of(const pipeline_engine_options& options) {
  return resolve_threads(layout_of(options), usable_cores());
}

expected<void> room_for(const pipeline_engine_options& options) {
  return check_room(layout_of(options));
}

}  // namespace

struct pipeline_engine::impl {
  std::string model;
  pipeline_engine_options options;
  loss_function loss;
  model_pipeline stages;
};

class eval_future::state {
 public:
  state(std::future<call_outcome> outcome, eval_batch_options options, std::shared_ptr<loss_fold> fold,
        std::shared_ptr<iterator_source> source, call_ticket_ptr ticket, std::weak_ptr<pipeline> running,
        std::chrono::nanoseconds timeout)
      : outcome_(std::move(outcome)),
        ticket_(std::move(ticket)),
        running_(std::move(running)),
        options_(options),
        fold_(std::move(fold)),
        source_(std::move(source)),
        deadline_(std::chrono::steady_clock::now() + timeout) {}
  explicit state(error refused) : refused_(std::move(refused)) {}

  [[nodiscard]] bool ready() const {
    return refused_ || outcome_.wait_for(std::chrono::seconds{0}) == std::future_status::ready;
  }

  [[nodiscard]] expected<eval_output> get() {
    if (refused_) return tl::make_unexpected(*refused_);
    if (outcome_.wait_until(deadline_) != std::future_status::ready) {
      const error late{error_code::deadline_passed, "eval_batch", "the call took longer than call_timeout",
                       "raise pipeline_engine_options::call_timeout, or look for the stage that is stuck"};
      if (const auto running = running_.lock()) running->cancel(ticket_, late);
      return tl::make_unexpected(late);
    }
    const call_outcome outcome = outcome_.get();
    if (outcome.cause) return tl::make_unexpected(*outcome.cause);
    eval_output output;
    output.micro_batches = outcome.tally.folded;
    output.samples = outcome.tally.samples;
    output.exhausted = source_->exhausted();
    if (options_.return_logits) output.logits = fold_->outputs();
    if (auto reduced = reduce_into(output); !reduced) return tl::make_unexpected(reduced.error());
    return output;
  }

 private:
  [[nodiscard]] expected<void> reduce_into(eval_output& output) const {
    const bool mean = options_.reduce_output == reduction::avg;
    if (options_.compute_loss && mean) {
      output.loss = fold_->mean_loss();
    } else if (options_.compute_loss) {
      output.losses = fold_->losses();
    } else if (!mean) {
      output.outputs = fold_->outputs();
    } else if (output.micro_batches > 0) {
      auto mean_output = fold_->mean_outputs();
      if (!mean_output) return tl::make_unexpected(mean_output.error());
      output.outputs = {std::move(*mean_output)};
    }
    return {};
  }

  std::optional<error> refused_;
  std::future<call_outcome> outcome_;
  call_ticket_ptr ticket_;
  std::weak_ptr<pipeline> running_;
  eval_batch_options options_;
  std::shared_ptr<loss_fold> fold_;
  std::shared_ptr<iterator_source> source_;
  std::chrono::steady_clock::time_point deadline_;
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

expected<std::unique_ptr<pipeline_engine>> pipeline_engine::create(const std::string& model,
                                                                   pipeline_engine_options options,
                                                                   loss_function loss) {
  options.threads = threads_of(options);
  if (auto room = room_for(options); !room) return tl::make_unexpected(room.error());
  auto chain = load_chain(model, {.allow_effects = options.allow_effects});
  if (!chain) return tl::make_unexpected(chain.error());
  const model_pipeline_options pipeline_options{.stages = options.stages,
                                                .replicas = options.replicas,
                                                .threads = *options.threads,
                                                .optimize = options.optimize,
                                                .partition = options.partition,
                                                .num_pipe_buffers = options.num_pipe_buffers};
  auto stages = start_model_pipeline(*chain, pipeline_options, options.sample);
  if (!stages) return tl::make_unexpected(stages.error());
  auto state = std::make_unique<impl>();
  state->model = model;
  state->options = std::move(options);
  state->loss = std::move(loss);
  state->stages = std::move(*stages);
  return std::unique_ptr<pipeline_engine>(new pipeline_engine(std::move(state)));
}

expected<std::unique_ptr<pipeline_engine>> pipeline_engine::create(const pipeline_module& module,
                                                                   pipeline_engine_options options) {
  const auto shape = shape_of(module, options.replicas);
  if (!shape) return tl::make_unexpected(shape.error());
  options.stages = shape->stages;
  options.replicas = shape->replicas;
  options.threads = threads_of(options);
  if (auto room = room_for(options); !room) return tl::make_unexpected(room.error());
  auto stages = start_module_pipeline(
      module, {.replicas = options.replicas, .threads = *options.threads, .num_pipe_buffers = options.num_pipe_buffers},
      options.sample);
  if (!stages) return tl::make_unexpected(stages.error());
  auto state = std::make_unique<impl>();
  state->model = "pipeline_module";
  state->options = std::move(options);
  state->loss = module.loss_fn;
  state->stages = std::move(*stages);
  return std::unique_ptr<pipeline_engine>(new pipeline_engine(std::move(state)));
}

pipeline_engine::pipeline_engine(std::unique_ptr<impl> state) : impl_(std::move(state)) {}
pipeline_engine::~pipeline_engine() = default;

expected<eval_output> pipeline_engine::eval_batch(data_iterator data, eval_batch_options options) {
  return eval_batch_async(std::move(data), options).get();
}

eval_future pipeline_engine::eval_batch_async(data_iterator data, eval_batch_options options) {
  const auto refuse = [](error cause) { return eval_future{std::make_unique<eval_future::state>(std::move(cause))}; };
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
  auto source = std::make_shared<iterator_source>(std::move(from), transform_, count);
  auto ticket = std::make_shared<call_ticket>();
  ticket->source = source;
  ticket->folds = {fold};
  const loss_request request{.compute_loss = options.compute_loss,
                             .keep_outputs = options.return_logits || !options.compute_loss};
  ticket->make_scorer = [loss = impl_->loss, request](std::uint32_t) {
    return std::make_shared<loss_scorer>(loss, request);
  };
  auto outcome = impl_->stages.running->submit(ticket);
  return eval_future{std::make_unique<eval_future::state>(std::move(outcome), options, std::move(fold),
                                                          std::move(source), std::move(ticket), impl_->stages.running,
                                                          impl_->options.call_timeout)};
}

expected<run_result> pipeline_engine::evaluate(const data_set_ptr& data, std::uint64_t micro_batch,
                                               const std::vector<std::string>& metrics) {
  if (micro_batch == 0 || micro_batch > limits::micro_batch_max) {
    return fail(error_code::value_out_of_range, "evaluate", "micro_batch is " + std::to_string(micro_batch),
                "give 1 to " + std::to_string(limits::micro_batch_max));
  }
  evaluation_request request{data, micro_batch, std::nullopt, {sink_request{}}};
  for (const std::string& name : metrics) {
    auto made = make_metric(name, data->classes());
    if (!made) return tl::make_unexpected(made.error());
    request.sinks.front().metrics.push_back(std::move(*made));
  }
  evaluation call{std::move(request)};
  pipeline& running = *impl_->stages.running;
  const auto before = running.engines().accounts->usage();
  auto future = running.submit(call.ticket());
  if (future.wait_for(impl_->options.call_timeout) != std::future_status::ready) {
    // Not waited for: calls end in their order, and one before this may be what does not end.
    const error late{error_code::deadline_passed, "evaluate", "it took longer than call_timeout",
                     "raise pipeline_engine_options::call_timeout, or look for the stage that is stuck"};
    running.cancel(call.ticket(), late);
    return tl::make_unexpected(late);
  }
  const call_outcome outcome = future.get();
  if (outcome.cause) return tl::make_unexpected(*outcome.cause);
  run_result result = call.result(outcome);
  result.model = impl_->model;
  result.stages = stage_reports(*running.engines().accounts, before, running.engines().accounts->usage(),
                                result.wall_seconds, impl_->stages.layers);
  result.config.model = impl_->model;
  result.config.data = data->name();
  result.config.stages = impl_->options.stages;
  result.config.replicas = impl_->options.replicas;
  result.config.micro_batch = micro_batch;
  result.config.threads = impl_->options.threads;
  result.config.optimize = impl_->options.optimize;
  result.config.partition = impl_->options.partition;
  result.config.num_pipe_buffers = impl_->options.num_pipe_buffers;
  result.config.metrics = metrics;
  return result;
}

std::uint32_t pipeline_engine::num_stages() const noexcept {
  return impl_->options.stages;
}

}  // namespace troupe
