#include "runtime/flow/training_stage_engine.hpp"

#include <exception>
#include <span>
#include <utility>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"

namespace troupe {

step_result training_stage_engine::step() {
  if (phase_ != phase::finished && !take_up_command()) {
    switch (phase_) {
      case phase::choosing:
        return act();
      case phase::sending_outputs:
      case phase::sending_gradient:
        return send();
      case phase::exchanging:
        return exchange();
      case phase::awaiting_decision:
        return rest();
      case phase::finished:
        break;
    }
  }
  return phase_ == phase::finished ? step_result::finished : step_result::progressed;
}

// --- what comes next -------------------------------------------------------------------------------------------------

step_result training_stage_engine::act() {
  if (front_ == nullptr) {
    fill_head();
    return rest();
  }
  if (!front_->trains) return evaluate_next();
  switch (progress_.next()) {
    case step_action::forward:
      return forward_next();
    case step_action::backward:
      return backward_next();
    case step_action::complete:
      // choosing -> exchanging: the sum of this replica is complete.
      begin_exchange();
      break;
  }
  return step_result::progressed;
}

step_result training_stage_engine::evaluate_next() {
  if (take_head_of(front_->number)) {
    move_in(evaluated_);
    compute_outputs(evaluated_);
    return step_result::progressed;
  }
  if (!has_ended(front_->number)) return rest();
  front_->has_passed = true;
  begin_front();
  pass_on_flush();
  return step_result::progressed;
}

step_result training_stage_engine::forward_next() {
  if (take_head_of(front_->number)) {
    // A replica gets every replicas-th id of a step. An edge that brings one twice must not have its gradient added
    // twice. If one is missing, the new edges of another epoch will bring it.
    const std::uint64_t awaited = progress_.forwards() * options_.replicas + options_.address.replica;
    if (head_->id.index > awaited) return rest();
    if (head_->id.index < awaited) {
      drop_head();
      return step_result::progressed;
    }
    taken_micro_batch& next = live_at(progress_.forwards());
    progress_.forward_begun();
    move_in(next);
    compute_outputs(next);
    return step_result::progressed;
  }
  if (!has_ended(front_->number)) return rest();
  // No forward is left, so that the next action is a backward pass although fewer micro-batches are live than may be.
  progress_.end();
  pass_on_flush();
  return step_result::progressed;
}

step_result training_stage_engine::backward_next() {
  std::optional<activation> arrived;
  if (!is_last()) {
    arrived = take_gradient();
    if (!arrived) return rest();
  }
  taken_micro_batch& oldest = live_at(progress_.backwards());
  progress_.backward_begun();
  was_awaited_ = std::exchange(was_idle_, false);
  if (arrived) trace(instruction_kind::recv_grad, arrived->id, oldest.buffer);
  compute_gradient(oldest, arrived);
  if (std::exchange(arrived, std::nullopt)) gradients_in_->release();
  return step_result::progressed;
}

bool training_stage_engine::take_head_of(call_number call) {
  fill_head();
  return head_ && head_->id.call == call;
}

/// The command that opens a call is queued before the call's first micro-batch is loaded. So a call that is unknown
/// while no command waits is over, and the micro-batch is a replay. If a command waits, the next step carries it out
/// before it looks at the head again.
void training_stage_engine::fill_head() {
  while (inbound_) {
    if (!head_) head_ = inbound_->try_receive();
    if (!head_ || calls_.knows(head_->id.call) || !commands_.empty()) return;
    drop_head();
  }
}

/// The next gradient of the front call. Those of a call before it are left over from a cancellation or a decision; one
/// that was used before came twice.
std::optional<activation> training_stage_engine::take_gradient() {
  const micro_batch_id awaited = live_at(progress_.backwards()).input.id;
  for (;;) {
    std::optional<activation> next = gradients_in_->try_receive();
    if (!next || next->id >= awaited) return next;
    next.reset();
    gradients_in_->release();
  }
}

void training_stage_engine::move_in(taken_micro_batch& into) {
  pass_on_flush();  // of the calls before that of the head
  into.input = std::move(*head_);
  into.buffer = static_cast<std::uint32_t>(taken_++ % options_.num_pipe_buffers);
  head_.reset();
  ++slots_used_;
  was_awaited_ = std::exchange(was_idle_, false);
  trace(is_first() ? instruction_kind::load_micro_batch : instruction_kind::recv_activation, into.input.id,
        into.buffer);
}

void training_stage_engine::release(taken_micro_batch& taken) {
  taken.input = {};
  --slots_used_;
  inbound_->release();
}

/// Ids ascend on the edge, so a micro-batch of a later call says as much as the flush of the calls before it.
std::optional<call_number> training_stage_engine::ended_through() const {
  if (!head_) return inbound_ ? inbound_->flushed_through() : std::nullopt;
  return head_->id.call == 0 ? std::nullopt : std::optional<call_number>(head_->id.call - 1);
}

bool training_stage_engine::has_ended(call_number call) const {
  const auto ended = ended_through();
  return ended && call <= *ended;
}

/// Passes on how far calls have ended: as a flush to the next stage, and by sending the scores that wait. True if there
/// was something to pass on. Called while no output waits to be sent.
bool training_stage_engine::pass_on_flush() {
  const auto ended = ended_through();
  if (!ended || (flushed_through_ && *ended <= *flushed_through_)) return false;
  flushed_through_ = ended;
  flush();
  outbound_.send_flush(*ended);
  return true;
}

/// There is no input for the next action, or no action before the next command.
step_result training_stage_engine::rest() {
  if (pass_on_flush() || flush_if_due()) return step_result::progressed;
  was_idle_ = true;
  const bool in_step = phase_ != phase::choosing || (front_ != nullptr && front_->trains && progress_.has_ended());
  if (in_step || !inbound_ || head_ || !inbound_->exhausted()) return step_result::idle;
  // choosing -> finished: the sender has closed the edge, and everything that can be worked off has been. A call whose
  // end did not come before cannot be completed any more.
  handle(stage_command::stop{});
  return step_result::finished;
}

// --- sending ---------------------------------------------------------------------------------------------------------

/// choosing -> sending: nothing is computed before this has left, so that a slow receiver slows down this stage instead
/// of filling its memory.
void training_stage_engine::begin_sending(phase what, taken_micro_batch& of) {
  in_hand_ = &of;
  phase_ = what;
  const bool has_receiver = what == phase::sending_outputs ? !outbound_.empty() : gradients_out_ != nullptr;
  if (!has_receiver) return has_sent();
  static_cast<void>(send());
}

step_result training_stage_engine::send() {
  // The look at the room comes first, as a number for the trace is drawn after credit was seen.
  if (!has_room_to_send()) return flush_if_due() ? step_result::progressed : step_result::idle;
  const std::uint64_t order = trace_ ? trace_->draw() : 0;
  const micro_batch_id id = output_.id;
  const expected<send_status> sent = try_send();
  if (!sent) {
    report(sent.error(), in_hand_->input, 1);  // cancels the call, and with it drops this micro-batch
    return step_result::progressed;
  }
  if (*sent == send_status::no_credit) return step_result::idle;  // the edge was lost meanwhile: a new epoch will come
  // A closed edge counts as sent: a stop has begun, and is on its way to this engine.
  if (trace_ && *sent == send_status::sent) {
    const bool forward = phase_ == phase::sending_outputs;
    trace_->record_at(order, forward ? instruction_kind::send_activation : instruction_kind::send_grad, id,
                      in_hand_->buffer);
  }
  has_sent();
  return step_result::progressed;
}

bool training_stage_engine::has_room_to_send() const {
  return phase_ == phase::sending_outputs ? outbound_.has_room(std::span(&output_, 1)) : gradients_out_->has_credit();
}

/// An edge to another process throws where it finds no memory for what it is given or cannot carry it.
expected<send_status> training_stage_engine::try_send() try {
  if (phase_ == phase::sending_gradient) {
    return was_awaited_ ? gradients_out_->try_send_now(output_) : gradients_out_->try_send(output_);
  }
  const auto by = was_awaited_ ? fan_out::caller::has_time : fan_out::caller::is_busy;
  switch (outbound_.send(std::span(&output_, 1), by)) {
    case fan_out::outcome::sent:
      return send_status::sent;
    case fan_out::outcome::no_credit:
      return send_status::no_credit;
    case fan_out::outcome::all_closed:
      break;
  }
  return send_status::closed;
} catch (const std::exception& e) {
  const bool forward = phase_ == phase::sending_outputs;
  return fail(error_code::forward_failed, options_.name,
              (forward ? "its outputs cannot be sent: " : "its gradient cannot be sent: ") + exception_text(e),
              "return dense tensors of the CPU, use smaller micro-batches, or give the machine more memory");
}

/// sending -> choosing. The slot is the sender's credit. A live micro-batch keeps it, as its input is needed for its
/// backward pass.
void training_stage_engine::has_sent() {
  const bool is_done = phase_ == phase::sending_gradient || !front_->trains;
  phase_ = phase::choosing;
  output_ = {};
  if (is_done) release(*in_hand_);
  in_hand_ = nullptr;
}

}  // namespace troupe
