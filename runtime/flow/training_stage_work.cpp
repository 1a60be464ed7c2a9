#include <utility>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"
#include "messages/try.hpp"
#include "runtime/flow/make_score.hpp"
#include "runtime/flow/training_stage_engine.hpp"

namespace troupe {
namespace {

/// What the body throws is a failure of its own.
template <class Run>
auto body_call(const std::string& stage, Run run) -> decltype(run()) try {
  return run();
} catch (...) {
  return fail(error_code::forward_failed, stage, "the stage threw: " + current_exception_text());
}

}  // namespace

/// Shows work that is no forward: the page names its micro-batch, and its time does not count for the median of the
/// forwards, with which a watch compares forwards and backward passes alike.
template <class Run>
auto training_stage_engine::on_page(micro_batch_id id, Run run) {
  const auto began = options_.now();
  page_->work.begin(id, began);
  auto result = body_call(options_.name, run);
  page_->work.put_down();
  page_->counters.busy_ns.fetch_add(static_cast<std::uint64_t>((options_.now() - began).count()),
                                    std::memory_order_relaxed);
  return result;
}

// --- forward and backward --------------------------------------------------------------------------------------------

void training_stage_engine::compute_outputs(taken_micro_batch& taken) {
  const micro_batch_id id = taken.input.id;
  const std::uint64_t samples = taken.input.row_count();
  const auto began = options_.now();
  page_->work.begin(id, began);
  const bool is_fine = run_forward(taken.input);
  if (is_fine) trace(instruction_kind::forward_pass, id, taken.buffer);
  const auto ran = options_.now();
  const bool is_scored = is_fine && score_outputs(taken.input);
  const auto busy = (options_.sinks.empty() ? ran : options_.now()) - began;
  page_->work.end(busy);
  stage_counters& counters = page_->counters;
  counters.forward_ns.fetch_add(static_cast<std::uint64_t>((ran - began).count()), std::memory_order_relaxed);
  counters.busy_ns.fetch_add(static_cast<std::uint64_t>(busy.count()), std::memory_order_relaxed);
  counters.micro_batches.fetch_add(1, std::memory_order_relaxed);
  counters.samples.fetch_add(samples, std::memory_order_relaxed);
  // After counting: these scores may be the last of their call, whose counts are read when it ends.
  flush_if_due();
  if (is_scored) begin_sending(phase::sending_outputs, taken);
}

bool training_stage_engine::run_forward(const activation& input) {
  for (std::uint32_t attempt = 1;; ++attempt) {
    output_ = input;
    if (input.is_empty_part()) return true;
    output_.tensors = nullptr;
    auto ran = try_forward(input);
    if (ran) return true;
    if (attempt < limits::forward_attempts_max) continue;
    report(std::move(ran.error()), input, attempt);
    return false;
  }
}

expected<void> training_stage_engine::try_forward(const activation& input) {
  TROUPE_TRY(body_call(options_.name, [&] {
    return front_->trains ? body_->forward(input, output_) : body_->evaluate(input, output_);
  }));
  if (output_.tensors != nullptr || output_.is_empty_part()) return {};
  return fail(error_code::forward_failed, options_.name, "the stage returned no tensors",
              "return tensors for every sample of the micro-batch");
}

void training_stage_engine::compute_gradient(taken_micro_batch& oldest, const std::optional<activation>& arrived) {
  auto gradient = try_backward(oldest.input, arrived);
  if (!gradient) return report(std::move(gradient.error()), oldest.input, 1);
  trace(instruction_kind::backward_pass, oldest.input.id, oldest.buffer);
  output_ = {
      .id = oldest.input.id, .samples = oldest.input.samples, .tensors = std::move(*gradient), .labels = nullptr};
  output_.rows = output_.tensors != nullptr ? oldest.input.rows : no_rows_;
  begin_sending(phase::sending_gradient, oldest);
}

expected<payload_ptr> training_stage_engine::try_backward(const activation& input,
                                                          const std::optional<activation>& arrived) {
  if (arrived && arrived->id != input.id) {
    return fail(error_code::wire_malformed, options_.name,
                "the gradient of " + to_string(arrived->id) + " came in its place");
  }
  if (input.is_empty_part()) return payload_ptr{};
  return on_page(input.id, [&] { return body_->backward(input.id, arrived ? arrived->tensors : nullptr); });
}

// --- the end of a step -----------------------------------------------------------------------------------------------

void training_stage_engine::begin_exchange() {
  const call_number call = front_->number;
  payload_ptr tied;
  payload_ptr sum;
  const auto made = on_page({call, 0}, [&]() -> expected<void> {
    if (exchange_.has_ties()) tied = TROUPE_TRY(body_->tied_sums());
    if (options_.replicas > 1) sum = TROUPE_TRY(body_->sum_of_gradients());
    return {};
  });
  if (!made) return report_step(made.error(), call);
  exchange_.begin(call, std::move(sum), std::move(tied));
  phase_ = phase::exchanging;
  static_cast<void>(exchange());
}

step_result training_stage_engine::exchange() {
  const auto moved = body_call(options_.name, [&] { return expected<bool>(exchange_.move()); });
  if (!moved) {
    report_step(moved.error(), front_->number);
    return step_result::progressed;
  }
  if (!exchange_.is_complete()) return *moved || flush_if_due() ? step_result::progressed : step_result::idle;
  complete_step();
  return step_result::progressed;
}

void training_stage_engine::complete_step() {
  const call_number call = front_->number;
  step_vote vote;
  const auto finished =
      on_page({call, 0}, [&] { return body_->finish(call, exchange_.sums(), exchange_.tied(), vote); });
  exchange_.end();
  if (!finished) return report_step(finished.error(), call);
  trace(instruction_kind::reduce_grads, {call, 0});
  vote.address = options_.address;
  vote.epoch = epoch_;
  vote.call = call;
  vote.micro_batches = progress_.forwards();
  // exchanging -> awaiting_decision: nothing of a later call is computed with weights that the decision may change.
  phase_ = phase::awaiting_decision;
  flush();  // the one who decides has all scores of the call when it has the votes
  if (listener_.on_vote) listener_.on_vote(std::move(vote));
}

void training_stage_engine::carry_out(const step_decision& decision) {
  const auto applied = on_page({decision.call, 0}, [&] { return body_->apply(decision); });
  is_behind_ = !applied;
  if (applied) {
    trace(instruction_kind::optimizer_step, {decision.call, 0});
    calls_.decided(decision.call);
    // awaiting_decision -> choosing: the weights are those that the next call needs.
    return begin_front();
  }
  // any -> awaiting_decision: the other stages have changed their weights, so nothing can be computed with these.
  phase_ = phase::awaiting_decision;
  error cause = applied.error();
  cause.where += (cause.where.empty() ? "" : ", ") + std::string("decision about the training step of call ") +
                 std::to_string(decision.call);
  if (listener_.on_failure) {
    listener_.on_failure({options_.address, 0, options_.name, std::nullopt, std::move(cause), 1});
  }
}

// --- scores and failures ---------------------------------------------------------------------------------------------

/// False: a score could not be made, and the call is cancelled.
bool training_stage_engine::score_outputs(const activation& input) {
  for (std::size_t sink = 0; sink < options_.sinks.size(); ++sink) {
    auto made = make_score(*front_->scorers[sink], options_.sinks[sink], output_, options_.name);
    if (!made) {
      report(std::move(made.error()), input, 1);
      return false;
    }
    if (!score_batcher_.fits(*made)) flush();
    score_batcher_.add(std::move(*made), options_.now());
  }
  return true;
}

bool training_stage_engine::flush_if_due() {
  if (score_batcher_.empty() || !score_batcher_.due(options_.now())) return false;
  flush();
  return true;
}

void training_stage_engine::flush() {
  if (score_batcher_.empty()) return;
  std::vector<score> batch = score_batcher_.take();
  if (listener_.on_scores) listener_.on_scores(std::move(batch));
}

void training_stage_engine::report(error cause, const activation& input, std::uint32_t attempts) {
  const micro_batch_id which = input.id;  // a copy, as the cancellation drops the input
  const std::string id = to_string(which);
  if (front_->trains) cause.where += (cause.where.empty() ? "" : ", ") + std::string("training step");
  if (cause.where.find(id) == std::string::npos) {  // a scorer may have named the micro-batch already
    cause.where += (cause.where.empty() ? "" : ", ") + id + ", samples " + std::to_string(input.samples.begin) +
                   " to " + std::to_string(input.samples.end == 0 ? 0 : input.samples.end - 1);
  }
  handle(stage_command::cancel_call{which.call});
  if (listener_.on_failure) {
    listener_.on_failure({options_.address, 0, options_.name, which, std::move(cause), attempts});
  }
}

/// A failure of the step as a whole.
void training_stage_engine::report_step(error cause, call_number call) {
  cause.where += (cause.where.empty() ? "" : ", ") + std::string("training step, call ") + std::to_string(call);
  handle(stage_command::cancel_call{call});
  if (listener_.on_failure) {
    listener_.on_failure({options_.address, 0, options_.name, micro_batch_id{call, 0}, std::move(cause), 1});
  }
}

}  // namespace troupe
