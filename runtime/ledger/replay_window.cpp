#include "runtime/ledger/replay_window.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "messages/check.hpp"
#include "messages/limits.hpp"
#include "messages/try.hpp"

namespace troupe {

replay_window::replay_window(std::uint64_t max_count, std::uint64_t min_count)
    : max_count_(max_count), min_count_(min_count) {
  TROUPE_CHECK(max_count >= 1, "at least one micro-batch may be under way");
}

bool replay_window::has_room() const noexcept {
  return kept_.size() < max_count_ && (kept_.size() < min_count_ || kept_bytes_ < limits::window_bytes);
}

void replay_window::add_calls_to(std::set<call_number>& calls) const {
  for (const entry& each : kept_) calls.insert(each.message.id.call);
}

void replay_window::keep(activation sent, std::uint64_t bytes, const std::shared_ptr<micro_batch_source>& source) {
  if (source->is_rereadable()) {
    const call_number call = sent.id.call;
    if (readers_.empty() || readers_.back().call != call) readers_.push_back({call, source});
    sent.tensors.reset();
    sent.labels.reset();
  }
  kept_bytes_ += bytes;
  kept_.push_back({std::move(sent), bytes});
}

void replay_window::forget(std::size_t at_most) {
  for (; at_most > 0 && kept_.size() > to_replay_ && kept_.front().message.id < forgettable_; --at_most) {
    kept_bytes_ -= kept_.front().bytes;
    kept_.pop_front();
  }
  const call_number needed = kept_.empty() ? forgettable_.call : kept_.front().message.id.call;
  while (!readers_.empty() && readers_.front().call < needed) readers_.pop_front();
}

void replay_window::cancel(call_number call) {
  const auto of_call = [&](const entry& each) { return each.message.id.call == call; };
  const auto to_replay = kept_.end() - static_cast<std::ptrdiff_t>(to_replay_);
  to_replay_ -= static_cast<std::size_t>(std::count_if(to_replay, kept_.end(), of_call));
  for (const entry& each : kept_) kept_bytes_ -= of_call(each) ? each.bytes : 0;
  std::erase_if(kept_, of_call);
  std::erase_if(readers_, [&](const reader& each) { return each.call == call; });
}

void replay_window::clear() noexcept {
  kept_.clear();
  readers_.clear();
  kept_bytes_ = 0;
  to_replay_ = 0;
}

expected<activation> replay_window::next_replay() {
  TROUPE_CHECK(replaying(), "only what is to be sent again is asked for");
  activation& wanted = next().message;
  micro_batch_source* const source = reader_of(wanted.id.call);
  if (source == nullptr || wanted.tensors) return wanted;
  loaded_micro_batch read = TROUPE_TRY(source->reread(wanted.id.index));
  if (read.samples != wanted.samples) {
    return fail(error_code::source_failed, "data source", "it gave other samples again than before",
                "give the same micro-batch for an index at any time, or have is_rereadable() say no");
  }
  wanted.tensors = std::move(read.tensors);
  wanted.labels = std::move(read.labels);
  return wanted;
}

void replay_window::replayed() {
  TROUPE_CHECK(replaying(), "only what is to be sent again is sent again");
  activation& sent = next().message;
  if (reader_of(sent.id.call) != nullptr) {
    sent.tensors.reset();
    sent.labels.reset();
  }
  --to_replay_;
}

micro_batch_source* replay_window::reader_of(call_number call) const noexcept {
  const auto found = std::ranges::find(readers_, call, &reader::call);
  return found == readers_.end() ? nullptr : found->source.get();
}

}  // namespace troupe
