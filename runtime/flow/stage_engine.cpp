#include "runtime/flow/stage_engine.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"
#include "runtime/flow/make_score.hpp"

namespace troupe {

stage_engine::stage_engine(stage_engine_options options, std::shared_ptr<stage_body> body)
    : options_(std::move(options)),
      body_(std::move(body)),
      page_(options_.shared_page ? options_.shared_page : std::make_shared<engine_page>()),
      bell_(page_->bell, options_.shared_page ? bell_reach::all_processes : bell_reach::this_process),
      commands_(bell_),
      inbound_(options_.inputs) {
  TROUPE_CHECK(body_ != nullptr, "a stage computes something");
  TROUPE_CHECK(options_.num_pipe_buffers >= 1, "a stage has a buffer to receive into");
  TROUPE_CHECK(options_.sink_ports.empty() || options_.sink_ports.size() == options_.sinks.size(),
               "every sink scores one output");
  if (options_.trace != nullptr) trace_.emplace(*options_.trace, options_.address);
}

void stage_engine::on_thread_start() try {
  body_->on_start();
  if (listener_.on_ready) listener_.on_ready();
} catch (...) {
  const error cause{error_code::forward_failed, options_.name, "it could not start: " + current_exception_text(), {}};
  if (listener_.on_failure) listener_.on_failure({options_.address, 0, options_.name, std::nullopt, cause, 1});
}

step_result stage_engine::step() {
  if (phase_ == phase::finished) return step_result::finished;
  if (take_up_command()) return phase_ == phase::finished ? step_result::finished : step_result::progressed;
  if (phase_ == phase::sending) return send();
  if (land_oldest()) return phase_ == phase::finished ? step_result::finished : step_result::progressed;
  return phase_ == phase::stopping ? step_result::idle : receive();
}

std::chrono::nanoseconds stage_engine::park_limit() const noexcept {
  const auto limit = score_batcher_.empty() ? limits::park_max : score_batcher_.time_left(options_.now());
  return flying_.empty() ? limit : std::min<std::chrono::nanoseconds>(limit, limits::device_poll_pause);
}

bool stage_engine::take_up_command() {
  auto command = commands_.pop();
  if (!command) return false;
  // In `stopping` no command can have an effect: the inbound edges are closed, and the outputs in flight are dropped.
  if (phase_ == phase::stopping) return true;
  std::visit([this](auto&& each) { handle(std::forward<decltype(each)>(each)); }, std::move(*command));
  return true;
}

// --- commands --------------------------------------------------------------------------------------------------------

void stage_engine::handle(stage_command::open_call&& command) {
  TROUPE_CHECK(scorers_.contains(command.call) || scorers_.size() < limits::calls_queued_max,
               "the director queues no more calls than that");
  TROUPE_CHECK(command.scorers.size() == options_.sinks.size(), "every sink scores every call");
  inbound_.begin(command.call, command.first);
  if (scores()) scorers_[command.call] = std::move(command.scorers);
}

void stage_engine::handle(const stage_command::release_call& command) {
  scorers_.erase(command.call);
  // The loader never sends a micro-batch of an ended call again, because all of them are below the low-water mark.
  cancelled_.erase(cancelled_.begin(), cancelled_.upper_bound(command.call));
  inbound_.forget(command.call);
}

void stage_engine::handle(const stage_command::cancel_call& command) {
  cancelled_.insert(command.call);
  scorers_.erase(command.call);
  score_batcher_.drop(command.call);
  inbound_.skip(command.call);
  // sending -> receiving: the outputs would wait for room that the receivers need for other calls.
  if (phase_ == phase::sending && work_.id().call == command.call) done();
}

void stage_engine::handle(stage_command::start_epoch&& command) {
  // sending -> receiving: the micro-batch in work came over the old edges, and the loader sends it again over the new
  // ones. Slots are released before the edges to which they belong are abandoned.
  if (!work_.inputs.empty()) done();
  drop_flying();
  inbound_.start_over(command.from);
  outbound_.abandon();
  for (engine_wiring::input& each : command.edges->inbound) inbound_.add_edge(each.port, std::move(each.edge));
  outbound_ = std::move(command.edges->outbound);
  // The low-water mark stood still during the change, so the loader may wait for scores to make room in its window.
  score_batcher_.shorten_delay();
  flushed_through_.reset();  // no flush has been sent over the new edges
}

void stage_engine::handle(const stage_command::decide_step&) {
  TROUPE_CHECK(false, "decisions come to engines that train");
}

void stage_engine::handle(stage_command::listen&& command) {
  listener_ = std::move(command.listener);
}

void stage_engine::handle(const stage_command::stop&) {
  // sending -> receiving: a stop follows the end of all calls, so the outputs belong to none.
  if (phase_ == phase::sending) done();
  drop_flying();  // releases slots, and so comes before the edges are closed
  inbound_.close();
  if (flying_.empty()) return finish();
  // receiving -> stopping: a device may still read and write the tensors in flight.
  phase_ = phase::stopping;
}

// --- receive -> run -> score, send -----------------------------------------------------------------------------------

step_result stage_engine::receive() {
  const bool has_room = has_room_in_flight();
  if (has_room && inbound_.take(work_.inputs)) {
    work_.take = inbound_.last_take();
    work_.was_awaited = std::exchange(waits_for_input_, false);
    work_.buffer = static_cast<std::uint32_t>(taken_++ % options_.num_pipe_buffers);
    static_cast<void>(pass_on_flush(work_.id().call));
    take_up();
    return phase_ == phase::finished ? step_result::finished : step_result::progressed;
  }
  waits_for_input_ = waits_for_input_ || has_room;
  if (pass_on_flush(std::nullopt) || flush_if_due()) return step_result::progressed;
  if (!flying_.empty() || !inbound_.exhausted()) return step_result::idle;
  // receiving -> finished: every sender has closed its edge, and everything that they sent has been worked off.
  finish();
  return step_result::finished;
}

bool stage_engine::has_room_in_flight() const noexcept {
  return flying_.size() < std::min<std::size_t>(options_.num_pipe_buffers, limits::forwards_in_flight_max);
}

void stage_engine::take_up() {
  if (!is_wanted()) return done();
  const auto take = options_.is_first ? instruction_kind::load_micro_batch : instruction_kind::recv_activation;
  if (trace_) trace_->record(take, work_.id(), work_.buffer);
  compute();
}

/// The command that opens a call is queued before the call's first micro-batch is loaded. Still the micro-batch may be
/// seen first, if the command came after this step had looked at the queue: then the queue is looked at once more.
bool stage_engine::is_wanted() {
  const call_number call = work_.id().call;
  while (scores() && phase_ == phase::receiving && !scorers_.contains(call)) {
    if (!take_up_command()) break;
  }
  if (work_.inputs.empty()) return false;  // one of these commands began a new epoch, which dropped it
  return phase_ == phase::receiving && !is_over(call);
}

void stage_engine::compute() {
  prepare_outputs();
  if (flying_.empty()) show_work(work_.id());
  const bool all_empty = std::ranges::all_of(work_.inputs, &activation::is_empty_part);
  const bool is_fine = all_empty || run_with_retry().has_value();
  if (is_fine && trace_) trace_->record(instruction_kind::forward_pass, work_.id(), work_.buffer);
  auto ready = is_fine && !all_empty ? body_->outputs_ready() : nullptr;
  // Outputs that are ready still wait behind older ones that are not, since edges carry ascending ids.
  if (is_fine && (ready || !flying_.empty())) {
    flying_.push_back({std::exchange(work_, {}), std::move(ready)});
  } else if (flying_.empty()) {
    conclude(is_fine, options_.now());
    begin_sending();
  } else {
    done();  // run_with_retry() has reported the failure
  }
}

void stage_engine::show_work(micro_batch_id id) {
  shown_since_ = options_.now();
  page_->work.begin(id, *shown_since_);
}

/// Scores and sends the oldest micro-batch in flight, if the device has finished its work on it. False: it has not, or
/// none is in flight.
bool stage_engine::land_oldest() {
  if (flying_.empty()) return false;
  flying_work& oldest = flying_.front();
  if (!shown_since_) show_work(oldest.what.id());
  const expected<bool> passed = oldest.ready ? oldest.ready->has_passed() : expected<bool>{true};
  if (passed && !*passed) return false;
  const bool is_dropped = oldest.is_dropped;
  work_ = std::move(oldest.what);
  flying_.pop_front();
  const bool is_wanted = !is_dropped && !is_over(work_.id().call);
  if (is_wanted && !passed) {
    error cause = passed.error();
    cause.where = options_.name + ", " + cause.where;
    report(std::move(cause), 1);
  }
  conclude(is_wanted && passed, options_.now());
  if (is_dropped) {
    done();
  } else {
    begin_sending();
  }
  // stopping -> finished: no device uses tensors of this engine any more.
  if (phase_ == phase::stopping && flying_.empty()) finish();
  return true;
}

/// Releases all inbound slots. The tensors in flight stay until the device has finished its work on them.
void stage_engine::drop_flying() {
  inbound_.release();
  for (flying_work& each : flying_) each.is_dropped = true;
}

bool stage_engine::is_over(call_number call) const {
  return cancelled_.contains(call) || (scores() && !scorers_.contains(call));
}

/// Scores the micro-batch and counts it. Its forward ended at the time `ran`.
void stage_engine::conclude(bool is_fine, std::chrono::nanoseconds ran) {
  if (is_fine && scores()) score_outputs();
  TROUPE_CHECK(shown_since_.has_value(), "the page shows a micro-batch before it is computed");
  const std::chrono::nanoseconds began = *std::exchange(shown_since_, std::nullopt);
  const auto busy = (scores() ? options_.now() : ran) - began;
  page_->work.end(busy);
  stage_counters& counters = page_->counters;
  counters.forward_ns.fetch_add(static_cast<std::uint64_t>((ran - began).count()), std::memory_order_relaxed);
  counters.busy_ns.fetch_add(static_cast<std::uint64_t>(busy.count()), std::memory_order_relaxed);
  counters.micro_batches.fetch_add(1, std::memory_order_relaxed);
  // A route has one input, which holds all samples; a join has several inputs, and one output with all samples.
  const activation& seen = work_.inputs.size() == 1 ? work_.inputs.front() : work_.outputs.front();
  counters.samples.fetch_add(seen.row_count(), std::memory_order_relaxed);
  // After counting: these scores may be the last of their call, whose counts are read when it ends.
  static_cast<void>(flush_if_due());
}

void stage_engine::begin_sending() {
  if (outbound_.empty() || phase_ != phase::receiving || is_over(work_.id().call)) return done();
  // receiving -> sending: the next micro-batch is not taken before this one has left, so that a slow receiver slows
  // down this stage instead of filling its memory.
  phase_ = phase::sending;
  static_cast<void>(send());
}

step_result stage_engine::send() {
  const micro_batch_id id = work_.id();
  // The look at the room serves the trace alone: its contract is that a number is drawn after credit was seen.
  const bool waits = trace_ && !outbound_.has_room(work_.outputs);
  const std::uint64_t order = trace_ && !waits ? trace_->draw() : 0;
  const expected<fan_out::outcome> outcome = waits ? fan_out::outcome::no_credit : try_send();
  if (!outcome) {
    report(outcome.error(), 1);  // cancels the call, and with it drops this micro-batch
    return step_result::progressed;
  }
  switch (*outcome) {
    case fan_out::outcome::no_credit:
      // Stays in `sending`: the bell rings when there is room. What has arrived of ended calls must not keep its slots
      // meanwhile, because a sender may need them for the micro-batch that the receivers of this one wait for.
      inbound_.drop_what_is_over();
      return flush_if_due() ? step_result::progressed : step_result::idle;
    case fan_out::outcome::sent:
      if (trace_) trace_->record_at(order, instruction_kind::send_activation, id, work_.buffer);
      break;
    case fan_out::outcome::all_closed:
      break;  // a stop has begun downstream, and is on its way to this engine
  }
  done();
  return step_result::progressed;
}

/// An edge to another process throws where it finds no memory for the outputs or cannot carry them.
expected<fan_out::outcome> stage_engine::try_send() try {
  return outbound_.send(work_.outputs, work_.was_awaited ? fan_out::caller::has_time : fan_out::caller::is_busy);
} catch (const std::exception& e) {
  return fail(error_code::forward_failed, options_.name, "its outputs cannot be sent: " + exception_text(e),
              "return dense tensors of the CPU, use smaller micro-batches, or give the machine more memory");
}

void stage_engine::done() {
  inbound_.release(work_.take);
  work_.inputs.clear();
  work_.outputs.clear();
  // sending -> receiving: the micro-batch has left or was dropped, and its slots are free.
  if (phase_ == phase::sending) phase_ = phase::receiving;
}

void stage_engine::prepare_outputs() {
  activation header = work_.inputs.front();
  header.tensors = nullptr;
  work_.outputs.assign(options_.outputs, header);
}

expected<void> stage_engine::run_with_retry() {
  for (std::uint32_t attempt = 1;; ++attempt) {
    auto ran = try_run();
    if (ran) return ran;
    if (attempt == limits::forward_attempts_max) {
      report(ran.error(), attempt);
      return ran;
    }
    prepare_outputs();
  }
}

expected<void> stage_engine::try_run() try {
  return body_->run(work_.inputs, work_.outputs).and_then([this] { return check_outputs(); });
} catch (...) {
  return fail(error_code::forward_failed, options_.name, "the stage threw: " + current_exception_text());
}

expected<void> stage_engine::check_outputs() const {
  for (const activation& each : work_.outputs) {
    if (each.tensors == nullptr && !each.is_empty_part()) {
      return fail(error_code::forward_failed, options_.name, "the stage returned no tensors",
                  "return tensors for every sample of the micro-batch");
    }
  }
  return {};
}

void stage_engine::report(error cause, std::uint32_t attempts) {
  const activation& input = work_.inputs.front();
  const micro_batch_id which = input.id;  // a copy, as the cancellation may drop the input
  const std::string id = to_string(which);
  if (cause.where.find(id) == std::string::npos) {  // a scorer may have named the micro-batch already
    cause.where += (cause.where.empty() ? "" : ", ") + id + ", samples " + std::to_string(input.samples.begin) +
                   " to " + std::to_string(input.samples.end == 0 ? 0 : input.samples.end - 1);
  }
  handle(stage_command::cancel_call{which.call});
  if (listener_.on_failure) {
    listener_.on_failure({options_.address, 0, options_.name, which, std::move(cause), attempts});
  }
}

// --- scores ----------------------------------------------------------------------------------------------------------

void stage_engine::score_outputs() {
  // A copy: a score that fails cancels the call, which erases the call's scorers from the map.
  const auto scorers = scorers_.at(work_.id().call);
  for (std::size_t index = 0; index < scorers.size(); ++index) {
    const std::size_t port = options_.sink_ports.empty() ? 0 : options_.sink_ports[index];
    auto next = make_score(*scorers[index], options_.sinks[index], work_.outputs[port], options_.name);
    if (!next) return report(next.error(), 1);
    add_to_batch(std::move(*next));
  }
}

void stage_engine::add_to_batch(score next) {
  if (!score_batcher_.fits(next)) flush();
  score_batcher_.add(std::move(next), options_.now());
}

bool stage_engine::flush_if_due() {
  if (score_batcher_.empty() || !score_batcher_.due(options_.now())) return false;
  flush();
  return true;
}

void stage_engine::flush() {
  if (score_batcher_.empty()) return;
  std::vector<score> batch = score_batcher_.take();
  if (listener_.on_scores) listener_.on_scores(std::move(batch));
}

/// Passes on how far calls have ended: as a flush to the stages downstream, and by sending the scores that wait. True
/// if there was something to pass on.
///
/// `before` is the call of the micro-batch in hand, if there is one. That call, and those of micro-batches in flight,
/// have not ended here yet; the calls before them have. Their flush is sent before the micro-batch is, because the
/// micro-batch may wait for room at one replica of the next stage while another replica waits for the flush.
bool stage_engine::pass_on_flush(std::optional<call_number> before) {
  auto ended = inbound_.flushed_through();
  if (!flying_.empty())
    before = std::min(before.value_or(flying_.front().what.id().call), flying_.front().what.id().call);
  if (ended && before && *ended >= *before) {
    ended = *before == 0 ? std::nullopt : std::optional<call_number>(*before - 1);
  }
  if (!ended || (flushed_through_ && *ended <= *flushed_through_)) return false;
  flushed_through_ = ended;
  flush();
  outbound_.send_flush(*ended);
  return true;
}

void stage_engine::finish() {
  flush();
  outbound_.close();
  // From any phase: no edge has anything more for this engine, or a stop was ordered.
  phase_ = phase::finished;
  if (listener_.on_finished) listener_.on_finished();
}

}  // namespace troupe
