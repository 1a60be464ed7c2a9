#include "runtime/flow/loader_engine.hpp"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"

namespace troupe {

namespace {

/// How many micro-batches are forgotten for each one that is sent. More than one, so that forgetting catches up; few,
/// so that the memory that becomes free is used again while it is in the caches.
constexpr std::size_t forgotten_per_send = 2;

/// The rows of a micro-batch without samples, which is passed on as an empty part.
row_set_ptr no_rows() {
  static const auto none = std::make_shared<const row_set>();
  return none;
}

/// Returns what `read` returns. An exception becomes E0604.
template <class Read>
auto guarded(const std::string& name, const Read& read) -> decltype(read()) {
  try {
    return read();
  } catch (...) {
    return fail(error_code::source_failed, name, "the data source threw: " + current_exception_text());
  }
}

}  // namespace

std::uint64_t window_for(std::uint64_t slots_of_all_edges) {
  return slots_of_all_edges + limits::replay_window_slack;
}

loader_engine::loader_engine(loader_engine_options options)
    : options_(std::move(options)),
      page_(options_.shared_page ? options_.shared_page : std::make_shared<engine_page>()),
      bell_(page_->bell, options_.shared_page ? bell_reach::all_processes : bell_reach::this_process),
      commands_(bell_),
      low_water_(bell_),
      window_(options_.window, options_.window_min),
      phase_(options_.paused ? phase::paused : phase::loading) {}

step_result loader_engine::step() {
  if (finished()) return step_result::finished;
  if (auto command = commands_.pop()) {
    std::visit([this](auto&& each) { handle(std::forward<decltype(each)>(each)); }, std::move(*command));
    return finished() ? step_result::finished : step_result::progressed;
  }
  if (phase_ == phase::paused) return step_result::idle;
  if (const auto mark = low_water_.take()) set_low_water(*mark);
  if (window_.replaying()) return resend();
  flush_calls_before(loaded_to_end_);
  return loaded_ ? send() : load();
}

// --- commands --------------------------------------------------------------------------------------------------------

void loader_engine::handle(loader_command::open_call&& command) {
  if (command.call < next_call_) return;
  next_call_ = command.call + 1;
  TROUPE_CHECK(calls_.size() < limits::calls_queued_max, "the director queues no more calls than that");
  loaded_to_end_ = calls_.empty() ? command.call : loaded_to_end_;
  sent_.begin(command.call, command.first);
  calls_.push_back({command.call, std::move(command.source), command.first});
}

void loader_engine::handle(const loader_command::cancel_call& command) {
  std::erase_if(calls_, [&](const queued_call& each) { return each.call == command.call; });
  std::erase_if(concluded_, [&](const concluded& each) { return each.end.call == command.call; });
  if (loaded_ && loaded_->message.id.call == command.call) drop_loaded();
  window_.cancel(command.call);
}

void loader_engine::handle(const loader_command::retain_calls& command) {
  std::set<call_number> others;
  for (const queued_call& each : calls_) others.insert(each.call);
  window_.add_calls_to(others);
  for (const concluded& each : concluded_) others.insert(each.end.call);
  for (const call_number call : command.calls) others.erase(call);
  for (const call_number call : others) handle(loader_command::cancel_call{call});
}

void loader_engine::handle(const loader_command::cut_calls& command) {
  for (queued_call& each : calls_) each.cut = each.cut || each.call < command.below;
  if (loaded_ && calls_.front().cut) {
    if (loaded_->counts) return;  // the other branches will get it, and then the call ends
    --calls_.front().next_index;  // it was read ahead and never sent, so it is not of the call
    drop_loaded();
  }
  while (!calls_.empty() && calls_.front().cut) end_current_call();
}

// The low-water mark is looked at here, and then not before the new epoch begins: receivers that take ids in order will
// wait for the micro-batch that this answer names, so it must be sent.
void loader_engine::handle(const loader_command::pause& command) {
  // While a replay is under way the window keeps its folded micro-batches, too, because receivers of this epoch were
  // told the first id of the replay and wait for it. The next epoch begins with another one. Folded micro-batches must
  // go then: a stage that is new does not know that their calls have ended.
  window_.end_replay();
  set_low_water(low_water_.newest());
  window_.forget(replay_window::all_of_them);
  // loading -> paused: until the new edges come, everything that this answer says has to stay true.
  phase_ = phase::paused;
  if (listener_.on_paused) listener_.on_paused({first_to_send(), command.round});
}

void loader_engine::handle(loader_command::start_epoch&& command) {
  outbound_.abandon();
  outbound_ = std::move(command.edges->outbound);
  window_.begin_replay();
  sent_.new_epoch();
  flushed_ = 0;
  // paused -> loading: all that is not folded may have been lost with the old edges, and is sent again first.
  phase_ = phase::loading;
  for (const concluded& each : concluded_) report(each);
}

void loader_engine::handle(loader_command::listen&& command) {
  listener_ = std::move(command.listener);
}

void loader_engine::handle(const loader_command::stop&) {
  outbound_.close();
  calls_.clear();
  loaded_.reset();
  window_.clear();
  // paused, loading -> finished: every call has been answered, so nothing has to be sent again.
  phase_ = phase::finished;
  // If a new actor gave its listener after the order to stop, that listener hears of the end. An actor that comes later
  // asks finished().
  while (auto command = commands_.pop()) {
    if (auto* listen = std::get_if<loader_command::listen>(&*command)) handle(std::move(*listen));
  }
  if (listener_.on_finished) listener_.on_finished();
}

// --- load -> send ----------------------------------------------------------------------------------------------------

void loader_engine::set_low_water(micro_batch_id mark) {
  window_.set_low_water(mark);
  sent_.set_low_water(mark);
  while (!concluded_.empty() && concluded_.front().end.call < mark.call) concluded_.pop_front();
}

micro_batch_id loader_engine::first_to_send() const {
  if (!window_.empty()) return window_.first();
  if (loaded_) return loaded_->message.id;
  if (!calls_.empty()) return {calls_.front().call, calls_.front().next_index};
  return {loaded_to_end_, 0};
}

step_result loader_engine::load() {
  if (calls_.empty()) {
    window_.forget(replay_window::all_of_them);
    return step_result::idle;
  }
  if (calls_.front().cut) {
    end_current_call();
    return step_result::progressed;
  }
  auto next = guarded(options_.name, [this] { return calls_.front().source->next(); });
  if (!next) {
    fail_current_call(next.error());
  } else if (!*next) {
    end_current_call();
  } else {
    queued_call& call = calls_.front();
    loaded_ = loaded_one{.message = {.id = {call.call, call.next_index++},
                                     .samples = (*next)->samples,
                                     .tensors = std::move((*next)->tensors),
                                     .labels = std::move((*next)->labels),
                                     .rows = (*next)->samples.size() == 0 ? no_rows() : nullptr},
                         .bytes = (*next)->bytes};
    static_cast<void>(send());
  }
  return step_result::progressed;
}

void loader_engine::drop_loaded() {
  loaded_.reset();
  sent_.let_go();
}

step_result loader_engine::send() {
  window_.forget(forgotten_per_send);
  if (!window_.has_room()) {
    low_water_.wait_for_mark();
    return step_result::idle;
  }
  if (try_send(loaded_->message) != fan_out::outcome::sent) {
    if (!loaded_) return step_result::progressed;
    loaded_->counts = loaded_->counts || outbound_.is_half_sent(loaded_->message.id);
    if (!loaded_->counts) sent_.take_back(loaded_->message.id);
    return step_result::idle;
  }
  TROUPE_CHECK(calls_.front().call == loaded_->message.id.call, "the call that is read ahead of is the first");
  window_.keep(std::move(loaded_->message), loaded_->bytes, calls_.front().source);
  loaded_.reset();
  counters_.sent.fetch_add(1, std::memory_order_relaxed);
  if (window_.size() > counters_.kept_max.load(std::memory_order_relaxed)) {
    counters_.kept_max.store(window_.size(), std::memory_order_relaxed);
  }
  return step_result::progressed;
}

step_result loader_engine::resend() {
  const micro_batch_id id = window_.next_id();
  flush_calls_before(id.call);
  expected<activation> next = guarded(options_.name, [this] { return window_.next_replay(); });
  if (!next) {
    static_cast<void>(give_up(id, std::move(next.error())));
    return step_result::progressed;
  }
  if (try_send(std::move(*next)) != fan_out::outcome::sent) {
    const bool waits = window_.replaying() && window_.next_id() == id;
    return waits ? step_result::idle : step_result::progressed;
  }
  counters_.replayed.fetch_add(1, std::memory_order_relaxed);
  window_.replayed();
  return step_result::progressed;
}

/// Any outcome but `sent` says that there is no room, or that a stop is on its way, or that an edge to another process
/// cannot carry the message: then its call has been given up, and none of its micro-batches is left.
fan_out::outcome loader_engine::try_send(activation message) {
  const micro_batch_id id = message.id;
  // Noted before it is sent, since the score may arrive before send() returns.
  sent_.note(id, message.samples.size());
  page_->sent.note(id, message.samples.size());
  try {
    return outbound_.send({&message, 1});
  } catch (const std::exception& e) {
    return give_up(id, {error_code::source_failed, options_.name, "it cannot be sent: " + exception_text(e),
                        "use smaller micro-batches, or give the machine more memory"});
  }
}

/// The call ends with this failure, and none of its micro-batches is left.
fan_out::outcome loader_engine::give_up(micro_batch_id id, error cause) {
  cause.where += (cause.where.empty() ? "" : ", ") + to_string(id);
  handle(loader_command::cancel_call{id.call});
  // Kept until the low-water mark passes the call, and reported again in every new epoch: the actor may die before it
  // has passed the report on.
  concluded_.push_back({{id.call, id.index}, failure{options_.address, 0, options_.name, id, std::move(cause), 1}});
  report(concluded_.back());
  return fan_out::outcome::no_credit;
}

/// The flush may name a call that was given up. That is right, since no more micro-batches of that call come.
void loader_engine::flush_calls_before(call_number call) {
  if (call <= flushed_) return;
  flushed_ = call;
  page_->sent.note_ended(call);
  outbound_.send_flush(call - 1);
}

void loader_engine::end_current_call() {
  const call_size end{calls_.front().call, calls_.front().next_index};
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
  if (!window_.replaying() && phase_ == phase::loading) flush_calls_before(loaded_to_end_);
  report(call);
  concluded_.push_back(std::move(call));
}

void loader_engine::report(const concluded& call) {
  if (call.why) {
    if (listener_.on_failure) listener_.on_failure(*call.why);
  } else if (listener_.on_call_size) {
    listener_.on_call_size(call.end);
  }
}

}  // namespace troupe
