#include <utility>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"
#include "runtime/flow/training_stage_engine.hpp"

namespace troupe {

training_stage_engine::training_stage_engine(training_stage_engine_options options, std::shared_ptr<training_body> body)
    : options_(std::move(options)),
      body_(std::move(body)),
      page_(options_.shared_page ? options_.shared_page : std::make_shared<engine_page>()),
      bell_(page_->bell, options_.shared_page ? bell_reach::all_processes : bell_reach::this_process),
      commands_(bell_),
      exchange_(options_.address, options_.replicas),
      progress_(live_micro_batches_max(options_.stages, options_.address.stage)),
      live_(progress_.live_max()) {
  TROUPE_CHECK(body_ != nullptr, "a stage computes something");
  TROUPE_CHECK(options_.address.stage < options_.stages && options_.address.replica < options_.replicas,
               "an engine is one of its chain's");
  TROUPE_CHECK(options_.sinks.empty() || is_last(), "the outputs of the last stage are scored");
  options_.num_pipe_buffers = std::max(options_.num_pipe_buffers, progress_.live_max());
  if (options_.trace != nullptr) trace_.emplace(*options_.trace, options_.address);
}

void training_stage_engine::on_thread_start() try {
  body_->on_start();
  if (listener_.on_ready) listener_.on_ready();
} catch (...) {
  const error cause{error_code::forward_failed, options_.name, "it could not start: " + current_exception_text(), {}};
  if (listener_.on_failure) listener_.on_failure({options_.address, 0, options_.name, std::nullopt, cause, 1});
}

std::chrono::nanoseconds training_stage_engine::park_limit() const noexcept {
  return score_batcher_.empty() ? limits::park_max : score_batcher_.time_left(options_.now());
}

bool training_stage_engine::take_up_command() {
  auto command = commands_.pop();
  if (!command) return false;
  std::visit([this](auto&& each) { handle(std::forward<decltype(each)>(each)); }, std::move(*command));
  return true;
}

void training_stage_engine::handle(stage_command::open_call&& command) {
  TROUPE_CHECK(command.scorers.size() == options_.sinks.size(), "every sink scores every call");
  TROUPE_CHECK(!command.trains || command.first == 0, "a step is done as a whole");
  calls_.open({.number = command.call, .trains = command.trains, .scorers = std::move(command.scorers)});
  if (front_ == nullptr) begin_front();
}

void training_stage_engine::handle(const stage_command::release_call& command) {
  // All work on this call or an earlier one is a replay, whose scores would be dropped.
  const bool is_front_over = front_ != nullptr && front_->number <= command.call;
  if (is_front_over) drop_work();
  calls_.release(command.call);
  if (is_front_over) begin_front();
}

void training_stage_engine::handle(const stage_command::cancel_call& command) {
  const bool is_front_over = front_ != nullptr && front_->number == command.call;
  if (is_front_over) {
    drop_work();
    if (front_->trains) body_->drop();
  }
  score_batcher_.drop(command.call);
  calls_.cancel(command.call);
  // any -> choosing: what was in work or waited for room, for sums or for a decision belonged to this call.
  if (is_front_over) begin_front();
}

void training_stage_engine::handle(stage_command::start_epoch&& command) {
  // any -> choosing or awaiting_decision: micro-batches in work came over the old edges, and the loader sends them
  // again over the new ones. Slots are released before the edges to which they belong are abandoned.
  drop_work();
  drop_head();
  body_->drop();
  abandon_edges();
  adopt(*command.edges);
  epoch_ = command.epoch;
  from_ = command.from;
  // The low-water mark stood still during the change, so the loader may wait for scores to make room in its window.
  score_batcher_.shorten_delay();
  flushed_through_.reset();  // no flush has been sent over the new edges
  calls_.start_over(from_.call);
  begin_front();
  TROUPE_CHECK(front_ == nullptr || !front_->trains || front_->number != from_.call || from_.index == 0,
               "a step is done as a whole");
}

/// What this engine holds of the step, or of a call before it, is a replay: it has voted in an epoch that has ended
/// meanwhile, or the incarnation before it has.
void training_stage_engine::handle(const stage_command::decide_step& command) {
  if (!calls_.takes_decision(command.decision.call)) return;
  const bool is_front_over = front_ != nullptr && front_->number <= command.decision.call;
  if (is_front_over && phase_ != phase::awaiting_decision) {
    drop_work();
    body_->drop();
  }
  TROUPE_CHECK(is_front_over || (slots_used_ == 0 && progress_.forwards() == 0),
               "a decision comes before the epoch of later calls, or its step is open");
  carry_out(command.decision);
}

void training_stage_engine::handle(stage_command::listen&& command) {
  listener_ = std::move(command.listener);
}

void training_stage_engine::handle(const stage_command::stop&) {
  // any -> finished: a stop follows the end of all calls, so all work belongs to calls that are not wanted any more.
  drop_work();
  drop_head();
  body_->drop();
  close_edges();
  finish();
}

/// The call that was in work is over or has passed: the next one begins.
void training_stage_engine::begin_front() {
  front_ = calls_.front();
  progress_.restart();
  // awaiting_decision: the epoch begins behind a step that is not decided here. Its decision was made, since the
  // low-water mark moves with it, and is on its way.
  const bool waits = is_behind_ || (front_ != nullptr && front_->trains && front_->number < from_.call);
  phase_ = waits ? phase::awaiting_decision : phase::choosing;
}

/// Lets go of everything of the front call. Handles go before slots, because a sender may write a free slot.
void training_stage_engine::drop_work() {
  output_ = {};
  in_hand_ = nullptr;
  for (taken_micro_batch& each : live_) each.input = {};
  evaluated_.input = {};
  for (; slots_used_ > 0; --slots_used_) inbound_->release();
  exchange_.end();
}

void training_stage_engine::drop_head() {
  if (!std::exchange(head_, std::nullopt)) return;
  inbound_->release();
}

void training_stage_engine::abandon_edges() {
  if (inbound_) inbound_->abandon();
  outbound_.abandon();
  if (gradients_in_) gradients_in_->abandon();
  if (gradients_out_) gradients_out_->abandon();
}

void training_stage_engine::adopt(engine_wiring& edges) {
  TROUPE_CHECK(edges.inbound.size() == 1 && edges.outbound.empty() == is_last(), "a chain has one edge between stages");
  TROUPE_CHECK((edges.gradients_in == nullptr) == is_last() && (edges.gradients_out == nullptr) == is_first(),
               "a gradient goes to every stage but the last, from every stage but the first");
  inbound_ = std::move(edges.inbound.front().edge);
  outbound_ = std::move(edges.outbound);
  gradients_in_ = std::move(edges.gradients_in);
  gradients_out_ = std::move(edges.gradients_out);
  exchange_.rewire(std::exchange(edges.peers, {}));
}

void training_stage_engine::close_edges() {
  if (inbound_) inbound_->close();
  if (gradients_in_) gradients_in_->close();
  if (gradients_out_) gradients_out_->close();
  exchange_.close();
}

void training_stage_engine::finish() {
  flush();
  outbound_.close();
  phase_ = phase::finished;
  if (listener_.on_finished) listener_.on_finished();
}

}  // namespace troupe
