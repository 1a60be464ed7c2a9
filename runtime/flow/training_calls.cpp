#include "runtime/flow/training_calls.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe {

void training_calls::open(call opened) {
  const call_number number = opened.number;
  if (number < first_open_ || cancelled_.contains(number)) return;
  if (const auto known = calls_.find(number); known != calls_.end()) {
    known->second.scorers = std::move(opened.scorers);
    return;
  }
  TROUPE_CHECK(calls_.empty() || calls_.rbegin()->first < number, "calls are opened in their order");
  TROUPE_CHECK(calls_.size() < limits::calls_queued_max, "the director queues no more calls than that");
  calls_.emplace(number, std::move(opened));
}

training_calls::call* training_calls::front() {
  const auto found = std::ranges::find_if(calls_, [](const auto& entry) { return !entry.second.has_passed; });
  return found == calls_.end() ? nullptr : &found->second;
}

void training_calls::cancel(call_number number) {
  if (number < first_open_) return;
  cancelled_.insert(number);
  calls_.erase(number);
}

void training_calls::release(call_number number) {
  const auto end = calls_.upper_bound(number);
  TROUPE_CHECK(std::none_of(calls_.begin(), end, [](const auto& entry) { return entry.second.trains; }),
               "a step is complete when it was decided or cancelled");
  calls_.erase(calls_.begin(), end);
  cancelled_.erase(cancelled_.begin(), cancelled_.upper_bound(number));
  first_open_ = std::max(first_open_, number + 1);
}

bool training_calls::takes_decision(call_number number) const {
  return !cancelled_.contains(number) && (!decided_through_ || number > *decided_through_);
}

void training_calls::decided(call_number number) {
  calls_.erase(calls_.begin(), calls_.upper_bound(number));
  decided_through_ = number;
  first_open_ = std::max(first_open_, number + 1);
}

void training_calls::start_over(call_number first) {
  for (auto& [number, each] : calls_) each.has_passed = !each.trains && number < first;
}

}  // namespace troupe
