#include <algorithm>
#include <exception>
#include <limits>
#include <set>
#include <utility>

#include <troupe/messages/check.hpp>
#include <troupe/runtime/engine/loader_engine.hpp>

namespace troupe {

namespace {

/// Forgotten for each micro-batch that is sent: more than one, to catch up, and few, so that the memory that comes free
/// is used again while it is warm.
constexpr std::size_t forgotten_per_send = 2;
constexpr std::size_t all_of_them = std::numeric_limits<std::size_t>::max();

}  // namespace

std::uint64_t window_for(std::uint64_t slots_of_all_edges) {
  return slots_of_all_edges + limits::window_extra;
}

loader_engine::loader_engine(loader_engine_options options)
    : options_(std::move(options)),
      page_(options_.shared_page ? options_.shared_page : std::make_shared<engine_page>()),
      bell_(page_->bell, options_.shared_page ? bell_reach::all_processes : bell_reach::this_process),
      commands_(bell_),
      low_water_(bell_),
      paused_(options_.paused) {
  TROUPE_CHECK(options_.window >= 1, "at least one micro-batch may be under way");
}

step_result loader_engine::step() {
  if (finished_) return step_result::finished;
  if (auto command = commands_.pop()) {
    std::visit([this](auto&& each) { handle(std::forward<decltype(each)>(each)); }, std::move(*command));
    return finished_ ? step_result::finished : step_result::progressed;
  }
  if (paused_) return step_result::idle;
  if (const auto mark = low_water_.take()) learn(*mark);
  if (to_resend_ > 0) return resend();
  flush_calls_before(loaded_to_end_);
  return loaded_ ? send() : load();
}

// --- commands --------------------------------------------------------------------------------------------------------

void loader_engine::handle(loader_command::begin_call&& command) {
  if (command.call < next_call_) return;
  next_call_ = command.call + 1;
  TROUPE_CHECK(calls_.size() < limits::calls_queued_max, "the director queues no more calls than that");
  loaded_to_end_ = calls_.empty() ? command.call : loaded_to_end_;
  calls_.push_back({command.call, std::move(command.source), command.first});
}

void loader_engine::handle(const loader_command::cancel_call& command) {
  const auto of_call = [&](const loaded_one& each) { return each.message.id.call == command.call; };
  std::erase_if(calls_, [&](const queued_call& each) { return each.call == command.call; });
  std::erase_if(concluded_, [&](const concluded& each) { return each.end.call == command.call; });
  if (loaded_ && of_call(*loaded_)) {
    loaded_.reset();
    outbound_.abandon();  // it may be half sent, and that says nothing of the next one
  }
  const auto resent = kept_.end() - static_cast<std::ptrdiff_t>(to_resend_);
  if (to_resend_ > 0 && of_call(*resent)) outbound_.abandon();
  to_resend_ -= static_cast<std::size_t>(std::count_if(resent, kept_.end(), of_call));
  for (const loaded_one& each : kept_) kept_bytes_ -= of_call(each) ? each.bytes : 0;
  std::erase_if(kept_, of_call);
}

void loader_engine::handle(const loader_command::retain_calls& command) {
  std::set<call_number> others;
  for (const queued_call& each : calls_) others.insert(each.call);
  for (const loaded_one& each : kept_) others.insert(each.message.id.call);
  for (const concluded& each : concluded_) others.insert(each.end.call);
  for (const call_number call : command.calls) others.erase(call);
  for (const call_number call : others) handle(loader_command::cancel_call{call});
}

void loader_engine::handle(const loader_command::cut_calls& command) {
  if (loaded_ && loaded_->message.id.call < command.below) {
    --calls_.front().next_index;  // read ahead, but never sent
    loaded_.reset();
    outbound_.abandon();
  }
  while (!calls_.empty() && calls_.front().call < command.below) end_current_call();
}

// The mark is taken here and not again until the rewiring: receivers that take ids in order wait for what this says.
void loader_engine::handle(const loader_command::pause& command) {
  to_resend_ = 0;  // what this epoch was promised is void: a stage that is new may not know of calls that have ended
  learn(low_water_.newest());
  forget(all_of_them);
  paused_ = true;
  if (listener_.on_paused) listener_.on_paused({first_to_send(), command.round});
}

void loader_engine::handle(loader_command::rewire&& command) {
  outbound_.vanish();
  outbound_ = std::move(command.edges->outbound);
  to_resend_ = kept_.size();
  flushed_ = 0;
  paused_ = false;
  for (const concluded& each : concluded_) report(each);
}

void loader_engine::handle(loader_command::listen&& command) {
  listener_ = std::move(command.listener);
}

void loader_engine::handle(const loader_command::stop&) {
  outbound_.close();
  calls_.clear();
  loaded_.reset();
  kept_.clear();
  kept_bytes_ = 0;
  to_resend_ = 0;
  finished_ = true;
  // A face that came after the order to stop hears of it, too; one that comes later sees finished().
  while (auto command = commands_.pop()) {
    if (auto* listen = std::get_if<loader_command::listen>(&*command)) handle(std::move(*listen));
  }
  if (listener_.on_finished) listener_.on_finished();
}

// --- load -> send ----------------------------------------------------------------------------------------------------

/// What is still to be sent again stays, also when a score from before the rewiring has made it superfluous: who takes
/// ids in order was told from where.
void loader_engine::forget(std::size_t at_most) {
  for (; at_most > 0 && kept_.size() > to_resend_ && kept_.front().message.id < forgettable_; --at_most) {
    kept_bytes_ -= kept_.front().bytes;
    kept_.pop_front();
  }
}

void loader_engine::learn(micro_batch_id mark) {
  forgettable_ = mark;
  while (!concluded_.empty() && concluded_.front().end.call < mark.call) concluded_.pop_front();
}

micro_batch_id loader_engine::first_to_send() const {
  if (!kept_.empty()) return kept_.front().message.id;
  if (loaded_) return loaded_->message.id;
  if (!calls_.empty()) return {calls_.front().call, calls_.front().next_index};
  return {loaded_to_end_, 0};
}

step_result loader_engine::load() {
  if (calls_.empty()) {
    forget(all_of_them);
    return step_result::idle;
  }
  auto next = read_next();
  if (!next) {
    fail_current_call(next.error());
  } else if (!*next) {
    end_current_call();
  } else {
    queued_call& call = calls_.front();
    loaded_ = loaded_one{.message = {.id = {call.call, call.next_index++},
                                     .samples = (*next)->samples,
                                     .sender_incarnation = 0,
                                     .tensors = std::move((*next)->tensors),
                                     .passengers = std::move((*next)->passengers)},
                         .bytes = (*next)->bytes};
    static_cast<void>(send());
  }
  return step_result::progressed;
}

bool loader_engine::window_has_room() const noexcept {
  return kept_.size() < options_.window &&
         (kept_.size() < options_.window_of_large || kept_bytes_ < limits::window_bytes);
}

step_result loader_engine::send() {
  forget(forgotten_per_send);
  if (!window_has_room()) {
    low_water_.wait_for_mark();
    return step_result::idle;
  }
  if (try_send(loaded_->message) != fan_out::outcome::sent)
    return loaded_ ? step_result::idle : step_result::progressed;
  kept_bytes_ += loaded_->bytes;
  kept_.push_back(std::move(*loaded_));
  loaded_.reset();
  counters_.sent.fetch_add(1, std::memory_order_relaxed);
  if (kept_.size() > counters_.kept_max.load(std::memory_order_relaxed)) {
    counters_.kept_max.store(kept_.size(), std::memory_order_relaxed);
  }
  return step_result::progressed;
}

step_result loader_engine::resend() {
  const std::size_t left = to_resend_;
  const activation& next = kept_[kept_.size() - to_resend_].message;
  flush_calls_before(next.id.call);
  if (try_send(next) != fan_out::outcome::sent) return left == to_resend_ ? step_result::idle : step_result::progressed;
  counters_.replayed.fetch_add(1, std::memory_order_relaxed);
  --to_resend_;
  return step_result::progressed;
}

/// Anything but `sent`: no room, or a stop on its way; or an edge into another process that cannot carry it, which has
/// cost its call: nothing of it is left then.
fan_out::outcome loader_engine::try_send(activation message) {
  const micro_batch_id id = message.id;
  try {
    return outbound_.send({&message, 1});
  } catch (const std::exception& e) {
    error cause{error_code::source_failed, options_.name + ", " + to_string(id),
                std::string{"it cannot be sent: "} + e.what(),
                "use smaller micro-batches, or give the machine more memory"};
    handle(loader_command::cancel_call{id.call});
    // Kept for the next face, too, until the call is given up: this one may be gone before it has told anybody.
    concluded_.push_back({{id.call, id.index}, failure{options_.address, 0, options_.name, id, std::move(cause), 1}});
    report(concluded_.back());
    return fan_out::outcome::no_credit;
  }
}

/// A flush may name a call that was given up: nothing more of it comes either.
void loader_engine::flush_calls_before(call_number call) {
  if (call <= flushed_) return;
  flushed_ = call;
  outbound_.send_end_of_call(call - 1);
}

expected<std::optional<loaded_micro_batch>> loader_engine::read_next() try {
  return calls_.front().source->next();
} catch (const std::exception& e) {
  return fail(error_code::source_failed, options_.name, e.what());
} catch (...) {
  return fail(error_code::source_failed, options_.name, "the data source threw something that is no std::exception");
}

void loader_engine::end_current_call() {
  const end_of_call end{calls_.front().call, calls_.front().next_index};
  calls_.pop_front();
  conclude({end, std::nullopt});
}

void loader_engine::fail_current_call(error cause) {
  const micro_batch_id id{calls_.front().call, calls_.front().next_index};
  cause.where += (cause.where.empty() ? "" : ", ") + to_string(id);
  calls_.pop_front();
  conclude({{id.call, id.index}, failure{options_.address, 0, options_.name, id, std::move(cause), 1}});
}

void loader_engine::conclude(concluded call) {
  loaded_to_end_ = call.end.call + 1;
  if (to_resend_ == 0 && !paused_) flush_calls_before(loaded_to_end_);
  report(call);
  concluded_.push_back(std::move(call));
}

void loader_engine::report(const concluded& call) {
  if (call.why) {
    if (listener_.on_failure) listener_.on_failure(*call.why);
  } else if (listener_.on_end_of_call) {
    listener_.on_end_of_call(call.end);
  }
}

}  // namespace troupe
