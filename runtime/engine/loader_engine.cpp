#include <algorithm>
#include <exception>
#include <utility>

#include <troupe/messages/check.hpp>
#include <troupe/runtime/engine/loader_engine.hpp>

namespace troupe {

std::uint64_t window_for(std::uint64_t slots_of_all_edges) {
  return slots_of_all_edges + limits::window_extra;
}

loader_engine::loader_engine(loader_engine_options options)
    : options_(std::move(options)), commands_(bell_), low_water_(bell_) {
  TROUPE_CHECK(options_.window >= 1, "at least one micro-batch may be under way");
}

step_result loader_engine::step() {
  if (finished_) return step_result::finished;
  if (auto command = commands_.pop()) {
    std::visit([this](auto&& each) { handle(std::forward<decltype(each)>(each)); }, std::move(*command));
    return finished_ ? step_result::finished : step_result::progressed;
  }
  if (const auto mark = low_water_.take()) forget_below(*mark);
  if (to_resend_ > 0) return resend();
  return loaded_ ? send() : load();
}

// --- commands --------------------------------------------------------------------------------------------------------

void loader_engine::handle(loader_command::begin_call&& command) {
  TROUPE_CHECK(calls_.size() < limits::calls_queued_max, "the director queues no more calls than that");
  calls_.push_back({command.call, std::move(command.source), 0});
}

void loader_engine::handle(const loader_command::cancel_call& command) {
  const auto of_call = [&](const auto& id) { return id.call == command.call; };
  std::erase_if(calls_, [&](const queued_call& each) { return each.call == command.call; });
  if (loaded_ && of_call(loaded_->id)) {
    loaded_.reset();
    outbound_.abandon();  // it may be half sent, and that says nothing of the next one
  }
  std::erase_if(kept_, [&](const kept& each) {
    if (!of_call(each.message.id)) return false;
    if (each.to_resend) --to_resend_;
    return true;
  });
}

void loader_engine::handle(const loader_command::cut_calls&) {
  if (loaded_) {
    --calls_.front().next_index;  // read ahead, but never sent
    loaded_.reset();
    outbound_.abandon();
  }
  while (!calls_.empty()) end_current_call();
}

void loader_engine::handle(const loader_command::replay& command) {
  for (kept& each : kept_) {
    const bool wanted = !command.replica || each.replica == *command.replica;
    if (!wanted || each.to_resend) continue;
    each.to_resend = true;
    ++to_resend_;
  }
}

void loader_engine::handle(const loader_command::stop&) {
  outbound_.close();
  calls_.clear();
  loaded_.reset();
  kept_.clear();
  to_resend_ = 0;
  finished_ = true;
  if (listener_.on_finished) listener_.on_finished();
}

// --- load -> send ----------------------------------------------------------------------------------------------------

void loader_engine::forget_below(micro_batch_id mark) {
  while (!kept_.empty() && kept_.front().message.id < mark) {
    if (kept_.front().to_resend) --to_resend_;
    kept_.pop_front();
  }
}

step_result loader_engine::load() {
  if (calls_.empty()) return step_result::idle;
  auto next = read_next();
  if (!next) {
    fail_current_call(next.error());
  } else if (!*next) {
    end_current_call();
  } else {
    queued_call& call = calls_.front();
    loaded_ = activation{.id = {call.call, call.next_index++},
                         .samples = (*next)->samples,
                         .sender_incarnation = 0,
                         .tensors = std::move((*next)->tensors),
                         .passengers = std::move((*next)->passengers)};
    static_cast<void>(send());
  }
  return step_result::progressed;
}

step_result loader_engine::send() {
  if (kept_.size() >= options_.window) {
    low_water_.wait_for_mark();
    return step_result::idle;
  }
  activation sent = *loaded_;
  if (outbound_.send({&sent, 1}) != fan_out::outcome::sent) return step_result::idle;  // no room, or a stop on its way
  kept_.push_back({std::move(*loaded_), outbound_.last_replica(0), false});
  loaded_.reset();
  counters_.sent.fetch_add(1, std::memory_order_relaxed);
  if (kept_.size() > counters_.kept_max.load(std::memory_order_relaxed)) {
    counters_.kept_max.store(kept_.size(), std::memory_order_relaxed);
  }
  return step_result::progressed;
}

step_result loader_engine::resend() {
  const auto first = std::find_if(kept_.begin(), kept_.end(), [](const kept& each) { return each.to_resend; });
  TROUPE_CHECK(first != kept_.end(), "to_resend_ counts the marks in kept_");
  activation copy = first->message;
  if (outbound_.send({&copy, 1}) != fan_out::outcome::sent) return step_result::idle;
  first->replica = outbound_.last_replica(0);
  first->to_resend = false;
  counters_.replayed.fetch_add(1, std::memory_order_relaxed);
  --to_resend_;
  return step_result::progressed;
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
  outbound_.send_end_of_call(end.call);
  if (listener_.on_end_of_call) listener_.on_end_of_call(end);
}

void loader_engine::fail_current_call(error cause) {
  const micro_batch_id id{calls_.front().call, calls_.front().next_index};
  cause.where += (cause.where.empty() ? "" : ", ") + to_string(id);
  calls_.pop_front();
  if (listener_.on_failure) listener_.on_failure({options_.address, 0, options_.name, id, std::move(cause), 1});
}

}  // namespace troupe
