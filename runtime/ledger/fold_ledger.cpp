#include "runtime/ledger/fold_ledger.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "messages/check.hpp"
#include "messages/exception_text.hpp"
#include "messages/limits.hpp"

namespace troupe {
namespace {

expected<void> guarded_fold(call_fold& into, const score& next) try { return into.fold(next); } catch (...) {
  return fail(error_code::metric_failed, "merging " + to_string(next.id), current_exception_text());
}

}  // namespace

std::uint64_t call_start::first() const noexcept {
  return folded.empty() ? 0 : *std::min_element(folded.begin(), folded.end());
}

fold_ledger::fold_ledger(ledger_options options) : options_(options), cursors_(options.sinks) {
  TROUPE_CHECK(options.sinks >= 1 && options.window >= 1, "a run has a sink and lets at least one micro-batch in");
}

void fold_ledger::begin(call_number call, std::vector<std::shared_ptr<call_fold>> folds, const call_start& start,
                        call_end end) {
  TROUPE_CHECK(call == next_to_begin_, "calls begin in order, without gaps");
  TROUPE_CHECK(folds.size() == options_.sinks, "every sink folds every call");
  TROUPE_CHECK(start.folded.empty() || start.folded.size() == options_.sinks, "every sink has a start, or none");
  ++next_to_begin_;
  call_state& state = calls_[call];
  state.folds = std::move(folds);
  state.folded = start.folded;
  state.folded.resize(options_.sinks);
  state.may_end = end == call_end::when_folded;
  state.tally.call = call;
  state.tally.samples = start.samples;
  for (std::uint32_t sink = 0; sink < cursors_.size(); ++sink) {
    if (cursors_[sink].next.call == call) cursors_[sink].next = first_of(call, sink);
  }
}

fold_ledger::verdict fold_ledger::fold(score next) {
  TROUPE_CHECK(next.sink < cursors_.size(), "a score names a sink of this run");
  TROUPE_CHECK(next.id.call < next_to_begin_, "a call begins at the ledger before its first micro-batch is loaded");
  cursor& at = cursors_[next.sink];
  const auto found = calls_.find(next.id.call);
  if (found == calls_.end()) return verdict::duplicate;  // of a call that ended
  if (found->second.tally.cancelled) return verdict::cancelled;
  // The count of the call decides, and not the cursor: the micro-batches with which a resumed call begins are folded
  // while the cursor is still in the call before.
  const bool is_folded = next.id.index < found->second.folded[next.sink];
  if (options_.deduplicate && (is_folded || at.held.contains(next.id))) {
    ++found->second.tally.duplicates_dropped;
    ++duplicates_;
    return verdict::duplicate;
  }
  if (next.id > at.next) {
    at.held.emplace(next.id, std::move(next));
    TROUPE_CHECK(at.held.size() < options_.window, "the loader sends only ids below low-water + window");
    return verdict::held;
  }
  const std::uint64_t failed_before = failed_;
  fold_in_order(at, found->second, next);
  advance(next.sink);
  if (failed_ != failed_before) advance_all();
  retire();
  return verdict::folded;
}

void fold_ledger::fold_in_order(cursor& at, call_state& call, const score& next) {
  if (auto folded = guarded_fold(*call.folds[next.sink], next); !folded) {
    call.tally.cancelled = true;
    call.tally.cause = folded.error();
    ++failed_;
    if (folded.error().code == error_code::journal_unwritable) count(call, next);
    drop_held({next.id.call, 0}, next.id.call);
    return;
  }
  count(call, next);
  at.next = std::max(at.next, micro_batch_id{next.id.call, next.id.index + 1});
}

void fold_ledger::count(call_state& call, const score& folded) {
  ++call.folded[folded.sink];
  if (folded.sink == 0) call.tally.samples += folded.samples;
}

void fold_ledger::advance(std::uint32_t sink) {
  cursor& at = cursors_[sink];
  for (;;) {
    if (skip_finished_call(at, sink)) continue;
    const auto first = at.held.begin();
    if (first == at.held.end() || first->first != at.next) return;
    const score next = std::move(first->second);
    at.held.erase(first);
    fold_in_order(at, calls_.at(next.id.call), next);
  }
}

/// If a fold fails, its call is cancelled. The cursors of sinks that were advanced before it must then pass that call,
/// too.
void fold_ledger::advance_all() {
  std::uint64_t failed_before = 0;
  do {
    failed_before = failed_;
    for (std::uint32_t sink = 0; sink < cursors_.size(); ++sink) advance(sink);
  } while (failed_ != failed_before);
}

/// Moves the cursor to the next call if the sink has folded all of this one, or this one is cancelled.
bool fold_ledger::skip_finished_call(cursor& at, std::uint32_t sink) const {
  const auto found = calls_.find(at.next.call);
  if (found == calls_.end()) return false;
  const call_state& call = found->second;
  const bool done = call.tally.cancelled || (call.may_end && has_all(call, sink));
  if (done) at.next = first_of(at.next.call + 1, sink);
  return done;
}

bool fold_ledger::has_all(const call_state& call, std::uint32_t sink) {
  return call.count && call.folded[sink] >= *call.count;
}

bool fold_ledger::is_folded(call_number call) const {
  const auto found = calls_.find(call);
  if (found == calls_.end() || least_cursor().call < call || found->second.may_end || found->second.tally.cancelled)
    return false;
  for (std::uint32_t sink = 0; sink < cursors_.size(); ++sink) {
    if (!has_all(found->second, sink)) return false;
  }
  return true;
}

std::optional<call_number> fold_ledger::folded_step() const {
  const call_number first = least_cursor().call;
  return is_folded(first) ? std::optional(first) : std::nullopt;
}

void fold_ledger::commit(call_number call) {
  const auto found = calls_.find(call);
  if (found == calls_.end() || found->second.may_end || found->second.tally.cancelled) return;
  TROUPE_CHECK(is_folded(call), "a step is decided when all its scores are folded");
  found->second.may_end = true;
  advance_all();
  retire();
}

micro_batch_id fold_ledger::first_of(call_number call, std::uint32_t sink) const {
  const auto found = calls_.find(call);
  return {call, found == calls_.end() ? 0 : found->second.folded[sink]};
}

void fold_ledger::close(const call_size& end) {
  const auto found = calls_.find(end.call);
  if (found == calls_.end() || found->second.tally.cancelled) return;  // repeated, or overtaken by a cancel
  TROUPE_CHECK(!found->second.count || *found->second.count == end.count, "a call has one count");
  found->second.count = end.count;
  drop_held({end.call, end.count}, end.call);
  advance_all();
  retire();
}

void fold_ledger::cancel(call_number call) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  found->second.tally.cancelled = true;
  drop_held({call, 0}, call);
  advance_all();
  retire();
}

std::optional<call_tally> fold_ledger::abandon(call_number call) {
  cancel(call);
  const auto found = std::ranges::find(known_, call, &call_tally::call);
  return found == known_.end() ? tally(call) : std::optional(*found);
}

void fold_ledger::drop_held(micro_batch_id from, call_number call) {
  for (cursor& at : cursors_) at.held.erase(at.held.lower_bound(from), at.held.lower_bound({call + 1, 0}));
}

/// Moves the calls that all cursors have passed to the list of ended calls.
void fold_ledger::retire() {
  const call_number open = least_cursor().call;
  while (!calls_.empty() && calls_.begin()->first < open) {
    call_state& call = calls_.begin()->second;
    call.tally.folded = *std::min_element(call.folded.begin(), call.folded.end());
    call.tally.expected = call.count.value_or(call.tally.folded);
    ended_.push_back(call.tally);
    known_.push_back(call.tally);
    if (known_.size() > limits::calls_queued_max) known_.pop_front();
    calls_.erase(calls_.begin());
  }
}

micro_batch_id fold_ledger::low_water() const noexcept {
  const micro_batch_id least = least_cursor();
  const auto call = calls_.find(least.call);
  const bool stands_still = call != calls_.end() && !call->second.may_end;
  return {least.call, (stands_still ? 0 : least.index) + options_.mark_lead};
}

micro_batch_id fold_ledger::least_cursor() const noexcept {
  micro_batch_id least = cursors_.front().next;
  for (const cursor& at : cursors_) least = std::min(least, at.next);
  return least;
}

std::optional<call_tally> fold_ledger::take_ended() {
  if (ended_.empty()) return std::nullopt;
  call_tally tally = ended_.front();
  ended_.pop_front();
  return tally;
}

std::optional<call_tally> fold_ledger::tally(call_number call) const {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return std::nullopt;
  call_tally tally = found->second.tally;
  tally.folded = *std::min_element(found->second.folded.begin(), found->second.folded.end());
  tally.expected = found->second.count.value_or(tally.folded);
  return tally;
}

}  // namespace troupe
