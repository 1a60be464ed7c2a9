#include <algorithm>
#include <exception>
#include <utility>

#include <troupe/messages/check.hpp>
#include <troupe/runtime/engine/stage_engine.hpp>

namespace troupe {

std::chrono::nanoseconds steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

stage_engine::stage_engine(stage_engine_options options, std::shared_ptr<stage_body> body)
    : options_(std::move(options)), body_(std::move(body)), commands_(bell_) {
  TROUPE_CHECK(body_ != nullptr, "a stage computes something");
  TROUPE_CHECK(options_.num_pipe_buffers >= 1, "a stage has a buffer to receive into");
  if (options_.trace != nullptr) trace_.emplace(*options_.trace, options_.address);
}

void stage_engine::on_thread_start() try {
  body_->on_start();
  if (listener_.on_ready) listener_.on_ready();
} catch (const std::exception& e) {
  const error cause{error_code::forward_failed, options_.name, std::string{"it could not start: "} + e.what(), {}};
  if (listener_.on_failure) listener_.on_failure({options_.address, 0, options_.name, std::nullopt, cause, 1});
}

step_result stage_engine::step() {
  if (phase_ == phase::finished) return step_result::finished;
  if (take_up_command()) return phase_ == phase::finished ? step_result::finished : step_result::progressed;
  return phase_ == phase::sending ? send() : receive();
}

std::chrono::nanoseconds stage_engine::park_limit() const noexcept {
  if (held_back_.empty()) return limits::park_max;
  const auto due = oldest_held_back_ + limits::score_delay_max - options_.now();
  return std::clamp<std::chrono::nanoseconds>(due, std::chrono::nanoseconds{0}, limits::park_max);
}

bool stage_engine::take_up_command() {
  auto command = commands_.pop();
  if (!command) return false;
  std::visit([this](auto&& each) { handle(std::forward<decltype(each)>(each)); }, std::move(*command));
  return true;
}

// --- commands --------------------------------------------------------------------------------------------------------

void stage_engine::handle(stage_command::begin_call&& command) {
  TROUPE_CHECK(is_last(), "only a last stage scores");
  TROUPE_CHECK(scorers_.size() < limits::calls_queued_max, "the director queues no more calls than that");
  TROUPE_CHECK(command.scorers.size() == options_.sinks.size(), "every sink scores every call");
  scorers_[command.call] = std::move(command.scorers);
}

void stage_engine::handle(const stage_command::forget_call& command) {
  scorers_.erase(command.call);
  // Ids of ended calls are below the low-water mark and will not be sent again, so their cancellation can be forgotten.
  cancelled_.erase(cancelled_.begin(), cancelled_.upper_bound(command.call));
}

void stage_engine::handle(const stage_command::cancel_call& command) {
  cancelled_.insert(command.call);
  scorers_.erase(command.call);
  std::erase_if(held_back_, [&](const score& each) { return each.id.call == command.call; });
  if (sending_ && sending_->message.id.call == command.call) drop_in_work();
}

void stage_engine::handle(const stage_command::stop&) {
  if (sending_) drop_in_work();
  for (auto& edge : inbound_) edge->close();
  finish();
}

// --- receive -> forward -> send --------------------------------------------------------------------------------------

step_result stage_engine::receive() {
  for (std::size_t tried = 0; tried < inbound_.size(); ++tried) {
    const std::size_t edge = (next_inbound_ + tried) % inbound_.size();
    auto message = inbound_[edge]->try_receive();
    if (!message) continue;
    next_inbound_ = edge + 1;
    const auto buffer = static_cast<std::uint32_t>(taken_++ % options_.num_pipe_buffers);
    work({std::move(*message), edge, buffer});
    return step_result::progressed;
  }
  if (pass_on_ended_calls() || flush_if_due()) return step_result::progressed;
  const bool exhausted =
      std::all_of(inbound_.begin(), inbound_.end(), [](const auto& edge) { return edge->exhausted(); });
  if (!exhausted) return step_result::idle;
  finish();
  return step_result::finished;
}

void stage_engine::work(in_work work) {
  const micro_batch_id id = work.message.id;
  // A call begins here before its first micro-batch is loaded, but maybe after this step looked at the commands.
  while (is_last() && phase_ != phase::finished && !scorers_.contains(id.call)) {
    if (!take_up_command()) break;
  }
  if (phase_ == phase::finished) return release(work.edge);
  if (cancelled_.contains(id.call) || (is_last() && !scorers_.contains(id.call))) return release(work.edge);
  const auto take = options_.is_first ? instruction_kind::load_micro_batch : instruction_kind::recv_activation;
  if (trace_) trace_->record(take, id, work.buffer);

  const auto started = options_.now();
  auto outputs = forward_with_retry(work);
  const auto forwarded = options_.now();
  counters_.forward_ns.fetch_add(static_cast<std::uint64_t>((forwarded - started).count()), std::memory_order_relaxed);
  if (outputs) {
    if (trace_) trace_->record(instruction_kind::forward_pass, id, work.buffer);
    if (is_last()) score_outputs(work, *outputs);
  }
  const auto busy = static_cast<std::uint64_t>(((is_last() ? options_.now() : forwarded) - started).count());
  counters_.busy_ns.fetch_add(busy, std::memory_order_relaxed);
  counters_.micro_batches.fetch_add(1, std::memory_order_relaxed);
  counters_.samples.fetch_add(work.message.samples.size(), std::memory_order_relaxed);
  if (!outputs || is_last()) return release(work.edge);

  work.message.tensors = std::move(*outputs);
  sending_ = std::move(work);
  phase_ = phase::sending;
  static_cast<void>(send());
}

step_result stage_engine::send() {
  std::size_t closed = 0;
  const micro_batch_id id = sending_->message.id;
  for (std::size_t tried = 0; tried < outbound_.size(); ++tried) {
    const std::size_t edge = (next_outbound_ + tried) % outbound_.size();
    if (outbound_[edge]->credits() == 0) continue;
    const std::uint64_t order = trace_ ? trace_->draw() : 0;
    const send_status status = outbound_[edge]->try_send(sending_->message);
    TROUPE_CHECK(status != send_status::no_credit, "credits only grow until this, their only sender, sends");
    if (status == send_status::closed) {
      ++closed;
      continue;
    }
    if (trace_) trace_->record_at(order, instruction_kind::send_activation, id, sending_->buffer);
    next_outbound_ = edge + 1;
    drop_in_work();
    return step_result::progressed;
  }
  if (closed < outbound_.size()) return step_result::idle;
  drop_in_work();  // everybody downstream is gone: a stop is on its way
  return step_result::progressed;
}

void stage_engine::drop_in_work() {
  release(sending_->edge);
  sending_.reset();
  phase_ = phase::receiving;
}

void stage_engine::release(std::size_t edge) {
  inbound_[edge]->release();
}

expected<payload_ptr> stage_engine::forward_with_retry(const in_work& work) {
  for (std::uint32_t attempt = 1;; ++attempt) {
    auto outputs = try_forward(work.message);
    if (outputs) return outputs;
    if (attempt == limits::forward_attempts_max) {
      report(work, outputs.error(), attempt);
      return outputs;
    }
  }
}

expected<payload_ptr> stage_engine::try_forward(const activation& input) try {
  return body_->forward(input);
} catch (const std::exception& e) {
  return fail(error_code::forward_failed, options_.name, e.what());
} catch (...) {
  return fail(error_code::forward_failed, options_.name, "the stage threw something that is no std::exception");
}

void stage_engine::report(const in_work& work, error cause, std::uint32_t attempts) {
  const sample_range samples = work.message.samples;
  const std::string id = to_string(work.message.id);
  if (cause.where.find(id) == std::string::npos) {  // a scorer may have said so already
    cause.where += (cause.where.empty() ? "" : ", ") + id + ", samples " + std::to_string(samples.begin) + " to " +
                   std::to_string(samples.end == 0 ? 0 : samples.end - 1);
  }
  handle(stage_command::cancel_call{work.message.id.call});
  if (listener_.on_failure) {
    listener_.on_failure({options_.address, 0, options_.name, work.message.id, std::move(cause), attempts});
  }
}

// --- scores ----------------------------------------------------------------------------------------------------------

void stage_engine::score_outputs(in_work& work, const payload_ptr& outputs) try {
  // A copy, as a failed score cancels the call and with it its scorers.
  const auto scorers = scorers_.at(work.message.id.call);
  for (std::size_t index = 0; index < scorers.size(); ++index) {
    score next;
    next.id = work.message.id;
    next.sink = options_.sinks[index];
    next.samples = work.message.samples.size();
    auto scored = scorers[index]->evaluate(outputs, work.message, next);
    if (!scored) return report(work, scored.error(), 1);
    hold_back(std::move(next));
  }
} catch (const std::exception& e) {
  report(work, error{error_code::metric_failed, options_.name, e.what(), {}}, 1);
} catch (...) {
  report(work,
         error{error_code::metric_failed, options_.name, "the metric threw something that is no std::exception", {}},
         1);
}

void stage_engine::hold_back(score next) {
  if (held_back_.empty()) oldest_held_back_ = options_.now();
  held_back_.push_back(std::move(next));
  if (held_back_.size() >= limits::scores_per_message_max) return flush();
  flush_if_due();
}

bool stage_engine::flush_if_due() {
  if (held_back_.empty() || options_.now() - oldest_held_back_ < limits::score_delay_max) return false;
  flush();
  return true;
}

void stage_engine::flush() {
  if (held_back_.empty()) return;
  if (listener_.on_scores) listener_.on_scores(std::exchange(held_back_, {}));
}

/// A call has ended here once every inbound edge says so; downstream, or the aggregator, hears of it at once.
bool stage_engine::pass_on_ended_calls() {
  std::optional<call_number> ended;
  for (const auto& edge : inbound_) {
    const auto each = edge->ended_call();
    if (!each) return false;
    ended = ended ? std::min(*ended, *each) : *each;
  }
  if (!ended || ended == ended_call_) return false;
  ended_call_ = ended;
  flush();
  for (auto& edge : outbound_) edge->send_end_of_call(*ended);
  return true;
}

void stage_engine::finish() {
  flush();
  for (auto& edge : outbound_) edge->close();
  phase_ = phase::finished;
  if (listener_.on_finished) listener_.on_finished();
}

}  // namespace troupe
