#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "messages/lifecycle.hpp"
#include "runtime/flow/stage_body.hpp"
#include "runtime/ledger/call_fold.hpp"
#include "runtime/ledger/fold_ledger.hpp"
#include "runtime/ledger/micro_batch_source.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe {

/// How a call ended. `tally.cancelled` with a cause: it failed, or was stopped (E0606, E0605).
struct call_outcome {
  call_tally tally;
  std::optional<error> cause;
  /// From the order to load to the last fold.
  std::chrono::nanoseconds wall{0};
  std::uint64_t replayed = 0;
  /// fold_ledger::duplicates_dropped() at its end.
  std::uint64_t dropped_so_far = 0;
};

/// Less was folded than was asked for, `asked` micro-batches with those of an earlier run; or the call was ended before
/// it was known that all of them were there.
[[nodiscard]] inline bool is_partial(const call_outcome& outcome, std::uint64_t asked) noexcept {
  return outcome.tally.cancelled || outcome.tally.folded < asked;
}
/// Micro-batches that were loaded and are not in the result, though nothing ended the call early.
[[nodiscard]] inline std::uint64_t lost_of(const call_outcome& outcome) noexcept {
  return outcome.tally.cancelled ? 0 : outcome.tally.expected - outcome.tally.folded;
}

/// One evaluation request on its way through a run: what the actors need as handles, beside open_call. The submitter
/// keeps the future; the director fulfils it exactly once, whatever happens.
struct call_ticket {
  /// Given by the director, in the order of submission.
  call_number number = 0;
  std::shared_ptr<micro_batch_source> source;
  /// Folded already when the call begins. The source begins at start.first().
  call_start start;
  /// One scorer per sink and last-stage replica: a scorer is used by one engine thread only.
  std::function<std::shared_ptr<scorer>(std::uint32_t sink)> make_scorer;
  /// The same for stages in worker processes.
  scoring in_workers;
  /// Turns a worker's score into one of make_scorer's, or says which part cannot be true. Empty: it is one already.
  std::function<std::optional<std::string>(score& said)> unpack;
  /// By sink: words of a score of at least one sample. Empty: not known.
  std::vector<std::size_t> score_words;
  /// One fold per sink, read by the submitter once the future is ready.
  std::vector<std::shared_ptr<call_fold>> folds;
  std::promise<call_outcome> done;
};

using call_ticket_ptr = std::shared_ptr<call_ticket>;

}  // namespace troupe
