#include "actors/call_book.hpp"

#include <algorithm>
#include <utility>

#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe {

std::optional<call_number> call_book::find(const call_ticket_ptr& ticket) const {
  const auto found = std::ranges::find_if(calls_, [&](const auto& each) { return each.second.ticket == ticket; });
  return found == calls_.end() ? std::nullopt : std::optional(found->first);
}

bool call_book::full() const noexcept {
  return calls_.size() >= limits::calls_queued_max;
}

call_number call_book::open(const call_ticket_ptr& ticket) {
  TROUPE_CHECK(!full(), "a call that has no room is refused before it is opened");
  const call_number number = next_number_++;
  ticket->number = number;
  calls_[number].ticket = ticket;
  return number;
}

void call_book::await(call_number number, stage_address at) {
  call& entry = calls_.at(number);
  // A stage that is replaced while a call is loaded is told of the call, too, but the call does not wait for its
  // answer.
  if (entry.now == phase::opening) entry.missing.insert(at);
}

void call_book::acknowledge(call_number number, stage_address at) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return;
  found->second.missing.erase(at);
  open_if_acknowledged(found->second);
}

void call_book::scores_are_folded(call_number number, std::uint64_t micro_batches) {
  if (const auto found = calls_.find(number); found != calls_.end()) found->second.folded = micro_batches;
}

void call_book::acknowledge_by_aggregator(call_number number) {
  const auto found = calls_.find(number);
  if (found == calls_.end()) return;
  found->second.aggregator_missing = false;
  open_if_acknowledged(found->second);
}

/// A dead stage does not answer. Its successor is told of the open calls when it is ready.
void call_book::excuse(stage_address at) {
  for (auto& [number, entry] : calls_) {
    entry.missing.erase(at);
    open_if_acknowledged(entry);
  }
}

void call_book::open_if_acknowledged(call& entry) {
  // opening -> opened: every receiver of a micro-batch or score of this call knows the call.
  if (entry.now == phase::opening && !entry.aggregator_missing && entry.missing.empty()) entry.now = phase::opened;
}

/// A later call may be acknowledged before an earlier one. The loader gets the calls in order all the same.
std::vector<call_number> call_book::take_loadable(std::chrono::nanoseconds now) {
  std::vector<call_number> loadable;
  for (; next_to_load_ < next_number_; ++next_to_load_) {
    const auto found = calls_.find(next_to_load_);
    if (found == calls_.end() || found->second.now == phase::cancelling) continue;
    if (found->second.now == phase::opening) break;  // a later call would overtake it
    // opened -> loading: all calls before it are loading, too, or have ended.
    found->second.now = phase::loading;
    found->second.started = now;
    loadable.push_back(next_to_load_);
  }
  return loadable;
}

bool call_book::cancel(call_number number, const error& cause) {
  const auto found = calls_.find(number);
  if (found == calls_.end() || found->second.now == phase::cancelling) return false;  // the first cause stays
  // any -> cancelling: the call stays in the book until the ledger says that it has ended.
  found->second.now = phase::cancelling;
  found->second.cause = cause;
  return true;
}

std::vector<call_number> call_book::cut() {
  cut_below_ = next_number_;
  std::vector<call_number> not_loading;
  for (const auto& [number, entry] : calls_) {
    // The loader itself ends the calls that are loading, after the micro-batches that it has sent.
    if (entry.now < phase::loading) not_loading.push_back(number);
  }
  return not_loading;
}

std::optional<call_book::call> call_book::close(call_number number) {
  auto node = calls_.extract(number);
  return node.empty() ? std::nullopt : std::optional(std::move(node.mapped()));
}

std::map<call_number, call_book::call> call_book::close_all() {
  return std::exchange(calls_, {});
}

micro_batch_id call_book::first_awaited(micro_batch_id first_sent) const {
  if (calls_.empty()) return std::max(first_sent, micro_batch_id{next_number_, 0});
  const auto& [number, entry] = *calls_.begin();
  return std::max(first_sent, micro_batch_id{number, entry.ticket->start.first()});
}

}  // namespace troupe
