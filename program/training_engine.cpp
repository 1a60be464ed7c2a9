#include <chrono>
#include <functional>
#include <utility>

#include "messages/limits.hpp"
#include "messages/try.hpp"
#include "program/engine_state.hpp"
#include "program/launch/process_context.hpp"
#include "program/run/fault_blame.hpp"
#include "program/training_engine_state.hpp"
#include "runtime/data/iterator_source.hpp"
#include "runtime/data/step_source.hpp"
#include "runtime/journal/open_journal.hpp"
#include "runtime/step/step_journal.hpp"
#include "runtime/training/step_scorer.hpp"
#include "runtime/training/training_loss.hpp"

namespace troupe {
namespace {

tl::unexpected<error> contradiction(const char* option, const char* why, const char* fix) {
  return fail(error_code::flags_contradict, std::string("training_engine, ") + option, why, fix);
}

expected<void> check(const training_engine_options& options) {
  const pipeline_engine_options& pipeline = options.pipeline;
  if (options.training.num_micro_batches == 0) {
    return fail(error_code::value_out_of_range, "training_engine", "num_micro_batches is 0", "ask for at least 1");
  }
  if (options.training.num_micro_batches > limits::step_micro_batches_max) {
    return fail(error_code::value_out_of_range, "training_engine",
                "num_micro_batches is " + std::to_string(options.training.num_micro_batches) + ", at most " +
                    std::to_string(limits::step_micro_batches_max) + " are possible",
                "use larger micro-batches");
  }
  if (pipeline.dtype) return contradiction("dtype", "weights are trained in float32", "leave dtype out");
  if (pipeline.device != "cpu") return contradiction("device", "it trains on the CPU", "leave device out");
  if (!pipeline.run.journal.file.empty()) {
    return contradiction("run.journal", "it is the journal of one evaluation",
                         "name the journal of a training in training_engine_options::journal");
  }
  if (options.training.clip_norm && !(*options.training.clip_norm > 0)) {
    return fail(error_code::value_out_of_range, "training_engine", "clip_norm is not above 0",
                "give a positive norm, or leave it out");
  }
  const training_protection& protect = options.training.protect;
  if (protect.kind == protection_kind::checkpoint &&
      (protect.every == 0 || protect.every > training_protection::every_max)) {
    return fail(error_code::value_out_of_range, "training_engine",
                "protect.every is " + std::to_string(protect.every) + ", expected 1 to " +
                    std::to_string(training_protection::every_max),
                "take protection_of(\"checkpoint:100\")");
  }
  if (!options.training.learning_rate) {
    return fail(error_code::value_out_of_range, "training_engine", "there is no learning rate",
                "give learning_rate a function of the step");
  }
  return {};
}

/// The step is given up with the error that this says.
using end_of_step = std::function<std::optional<error>()>;

/// Looks after the run meanwhile. Nothing once the outcome is there.
std::optional<error> wait_for(const std::future<call_outcome>& outcome, const end_of_step& ended,
                              running_topology& running) {
  while (outcome.wait_for(limits::report_interval) != std::future_status::ready) {
    if (auto cause = ended()) return cause;
    running.watch();
  }
  return std::nullopt;
}

end_of_step ends_after(std::chrono::nanoseconds patience) {
  return [until = std::chrono::steady_clock::now() + patience]() -> std::optional<error> {
    if (std::chrono::steady_clock::now() < until) return std::nullopt;
    return error{error_code::deadline_passed, "train_batch", "the step took longer than its time",
                 "raise run.deadline or call_timeout of the options, or look for the stage that is stuck"};
  };
}

/// Notes when the last of so many batches was taken, or there are no more.
data_iterator noting_the_last(data_iterator from, std::uint64_t count, std::shared_ptr<std::atomic<bool>> is_last) {
  return [from = std::move(from), left = count, is_last = std::move(is_last)]() mutable -> std::optional<batch> {
    auto next = from();
    if (--left == 0 || !next) *is_last = true;
    return next;
  };
}

/// In the driver alone: its workers find the journal that it has begun.
expected<void> check_early(const training_journal_options& journal) {
  const process_context& process = process_context::of_this_process();
  if (journal.file.empty() || process.worker || process.is_probe) return {};
  return check_journal(journal.file, journal.resume);
}

/// The loss that is asked for, or that of the module as a mean over samples.
expected<training_options> with_loss(training_options training, const loss_function& of_module) {
  if (training.loss) return training;
  if (!of_module) {
    return fail(error_code::metric_failed, "training_engine", "there is no loss to train with",
                "set training.loss, or give the module a loss function");
  }
  training.loss = training_loss_options{.kind = loss_kind::custom, .function = loss_of_mean(of_module)};
  return training;
}

}  // namespace

template <class Model>
expected<std::unique_ptr<training_engine>> training_engine::create_from(const Model& model,
                                                                        training_engine_options options,
                                                                        const loss_function& of_module) {
  TROUPE_TRY(check(options));
  const auto training =
      std::make_shared<const training_options>(TROUPE_TRY(with_loss(std::move(options.training), of_module)));
  options.pipeline.training = training;
  options.pipeline.num_micro_batches = training->num_micro_batches;
  options.pipeline.optimize = optimize_mode::none;  // gradients are those of the model's own operators
  auto state = std::make_unique<impl>(training);
  TROUPE_TRY(check_early(options.journal));
  // Until the stages run, so that faults and threads are checked as those of a run with a journal.
  options.pipeline.run.journal = {.file = options.journal.file, .resume = options.journal.resume};
  state->engine = TROUPE_TRY(pipeline_engine::create(model, std::move(options.pipeline)));
  state->reader.emplace(state->engine->impl_->checked, state->engine->impl_->stages);
  TROUPE_TRY(state->open_journal(options.journal));
  return std::unique_ptr<training_engine>(new training_engine(std::move(state)));
}

expected<std::unique_ptr<training_engine>> training_engine::create(const pipeline_module& module,
                                                                   training_engine_options options) {
  return create_from(module, std::move(options), module.loss_fn);
}
expected<std::unique_ptr<training_engine>> training_engine::create(const std::string& model,
                                                                   training_engine_options options) {
  return create_from(model, std::move(options), {});
}
expected<std::unique_ptr<training_engine>> training_engine::create(const model_with_weights& model,
                                                                   training_engine_options options) {
  return create_from(model, std::move(options), {});
}

training_engine::training_engine(std::unique_ptr<impl> state) : impl_(std::move(state)) {}
training_engine::~training_engine() = default;

void training_engine::set_dataiterator(data_iterator data) {
  impl_->engine->set_dataiterator(std::move(data));
}
void training_engine::set_batch_fn(batch_function transform) {
  impl_->engine->set_batch_fn(std::move(transform));
}
expected<eval_output> training_engine::eval_batch(data_iterator data, eval_batch_options options) {
  TROUPE_TRY(impl_->recover(nullptr));
  auto made = impl_->engine->eval_batch(std::move(data), options);
  if (!made && impl_->note_loss(made.error())) {
    made.error().fix = "give eval_batch() the same batches again: it then begins with the states that are left";
  }
  return made;
}
const std::vector<std::string>& training_engine::warnings() const noexcept {
  return impl_->engine->impl_->stages.warnings;
}
bool training_engine::is_gradient_accumulation_boundary() const noexcept {
  return *impl_->is_at_boundary;
}
std::uint64_t training_engine::global_steps() const noexcept {
  return impl_->counts.steps;
}
double training_engine::get_lr() const {
  return impl_->training->learning_rate(impl_->counts.schedule_step);
}
expected<std::vector<trace_event>> training_engine::finish() {
  impl_->take_copy(true);
  auto trace = impl_->engine->finish();
  if (impl_->journal && trace) TROUPE_TRY(impl_->journal->close());
  return trace;
}

expected<train_output> training_engine::train_batch(data_iterator data) {
  data_iterator from = data ? std::move(data) : impl_->engine->data_;
  if (!from) {
    return fail(error_code::source_failed, "train_batch", "there is no iterator",
                "give train_batch one, or call set_dataiterator first");
  }
  const std::uint64_t count = impl_->training->num_micro_batches;
  const auto source = std::make_shared<iterator_source>(noting_the_last(std::move(from), count, impl_->is_at_boundary),
                                                        impl_->engine->transform_, count);
  auto made = impl_->step(source, nullptr);
  *impl_->is_at_boundary = false;
  if (made) made->exhausted = source->exhausted();
  return made;
}

expected<train_output> training_engine::impl::step_once(std::shared_ptr<micro_batch_source> from,
                                                        const end_of_step& ended) {
  TROUPE_TRY(attach_journal());
  const std::uint64_t replicas = engine->impl_->config.replicas;
  const auto losses = std::make_shared<step_losses>(replicas);
  const call_outcome outcome = TROUPE_TRY(run(std::make_shared<step_source>(std::move(from), replicas), losses, ended));
  train_output made = output_of(*outcome.step, losses->add());
  made.step = counts.steps;
  decided = outcome.step->decision;
  ++counts.decisions;
  counts.micro_batches += made.micro_batches;
  counts.samples += made.samples;
  if (!outcome.step->decision.is_applied) return made;
  ++counts.steps;
  ++counts.schedule_step;
  return made;
}

call_ticket_ptr training_engine::impl::make_ticket(const std::shared_ptr<step_source>& source,
                                                   const std::shared_ptr<step_losses>& losses) const {
  auto ticket = std::make_shared<call_ticket>();
  ticket->source = source;
  ticket->trains = true;
  ticket->folds = {losses};
  ticket->folded_words = [losses] { return step_losses::words_of(losses->add()); };
  const std::size_t others = engine->impl_->options.sinks.size();
  for (std::size_t sink = 0; sink < others; ++sink) ticket->folds.push_back(std::make_shared<loss_fold>());
  ticket->make_scorer = [](std::uint32_t sink) { return std::make_shared<step_scorer>(sink == 0); };
  ticket->in_workers.content = score_content::step_loss;
  return ticket;
}

expected<call_outcome> training_engine::impl::run(const std::shared_ptr<step_source>& source,
                                                  const std::shared_ptr<step_losses>& losses,
                                                  const end_of_step& ended) {
  const auto ticket = make_ticket(source, losses);
  running_topology& running = *engine->impl_->stages.running;
  const pipeline_engine_options& options = engine->impl_->options;
  const end_of_step is_late = ends_after(options.run.deadline.value_or(options.call_timeout));
  auto outcome = running.submit(ticket);
  const end_of_step is_over = [&] {
    auto asked = ended ? ended() : std::nullopt;
    return asked ? asked : is_late();
  };
  if (const auto cause = wait_for(outcome, is_over, running)) {
    running.cancel(ticket, *cause);
    // A step that was decided meanwhile is done, and the outcome says so.
    if (wait_for(outcome, ends_after(limits::control_request_timeout), running)) return tl::make_unexpected(*cause);
  }
  call_outcome made = outcome.get();
  if (made.step) return made;  // done, whatever came after the decision
  if (made.cause) return tl::make_unexpected(after_faults(*made.cause, running.faults()));
  return fail(error_code::call_cancelled, "train_batch", "the step ended without a decision", "begin it again");
}

data_iterator repeating_loader(std::function<data_iterator()> make) {
  struct state {
    std::function<data_iterator()> make;
    data_iterator now = nullptr;
  };
  return [kept = std::make_shared<state>(state{std::move(make)})]() -> std::optional<batch> {
    if (kept->now) {
      if (auto next = kept->now()) return next;
    }
    kept->now = kept->make();
    return kept->now ? kept->now() : std::nullopt;
  };
}

}  // namespace troupe
