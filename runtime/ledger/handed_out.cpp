#include "runtime/ledger/handed_out.hpp"

#include <algorithm>

#include "messages/check.hpp"

namespace troupe {

void handed_out::begin(call_number call, std::uint64_t first) {
  const std::lock_guard lock{mutex_};
  calls_[call] = {first, first, {}};
  next_call_ = std::max(next_call_, call + 1);
}

void handed_out::note(micro_batch_id id, std::uint64_t samples) {
  const std::lock_guard lock{mutex_};
  if (last_noted_ != id) ++deliveries_;
  last_noted_ = id;
  held_.reset();
  const auto found = calls_.find(id.call);
  if (found == calls_.end() || id.index < found->second.next) return;  // it was sent before
  sent_call& of = found->second;
  TROUPE_CHECK(id.index == of.next, "the loader sends the micro-batches of a call in order");
  ++of.next;
  if (of.runs.empty() || of.runs.back().samples != samples) of.runs.push_back({id.index, samples});
}

void handed_out::take_back(micro_batch_id id) {
  const std::lock_guard lock{mutex_};
  const auto found = calls_.find(id.call);
  if (found == calls_.end() || found->second.next != id.index + 1) return;
  sent_call& of = found->second;
  held_ = id;
  --of.next;
  if (!of.runs.empty() && of.runs.back().first == id.index) of.runs.pop_back();
}

void handed_out::let_go() {
  const std::lock_guard lock{mutex_};
  held_.reset();
}

void handed_out::new_epoch() {
  const std::lock_guard lock{mutex_};
  last_noted_.reset();
}

void handed_out::set_low_water(micro_batch_id mark) {
  const std::lock_guard lock{mutex_};
  calls_.erase(calls_.begin(), calls_.lower_bound(mark.call));
  const auto open = calls_.find(mark.call);
  if (open == calls_.end()) return;
  auto& runs = open->second.runs;
  while (runs.size() > 1 && runs[1].first <= mark.index) runs.pop_front();
}

handed_out::micro_batch handed_out::find(micro_batch_id id) const {
  const std::lock_guard lock{mutex_};
  return find_locked(id);
}

handed_out::micro_batch handed_out::find_locked(micro_batch_id id) const {
  if (id.call >= next_call_) return {standing::never, 0};
  const auto found = calls_.find(id.call);
  if (found == calls_.end()) return {standing::over, 0};
  const sent_call& of = found->second;
  if (id.index < of.first || id.index >= of.next) return {standing::never, 0};
  const auto behind = std::ranges::upper_bound(of.runs, id.index, {}, &run::first);
  if (behind == of.runs.begin()) return {standing::over, 0};
  return {standing::out, std::prev(behind)->samples};
}

bool handed_out::is_out_or_held(micro_batch_id id) const {
  const std::lock_guard lock{mutex_};
  return held_ == id || find_locked(id).now == standing::out;
}

std::uint64_t handed_out::count_from(micro_batch_id first) const {
  const std::lock_guard lock{mutex_};
  std::uint64_t count = 0;
  for (auto call = calls_.lower_bound(first.call); call != calls_.end(); ++call) {
    const auto& [number, of] = *call;
    const std::uint64_t begin = number == first.call ? std::max(of.first, first.index) : of.first;
    count += of.next - std::min(of.next, begin);
  }
  return count;
}

call_number handed_out::next_call() const {
  const std::lock_guard lock{mutex_};
  return next_call_;
}

std::uint64_t handed_out::deliveries() const {
  const std::lock_guard lock{mutex_};
  return deliveries_;
}

}  // namespace troupe
