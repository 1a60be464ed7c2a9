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
#include "runtime/journal/step_record.hpp"
#include "runtime/ledger/call_fold.hpp"
#include "runtime/ledger/fold_ledger.hpp"
#include "runtime/ledger/micro_batch_source.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe {

/// How a call ended. If `tally.cancelled` is true, `cause` says why: the call has failed, or was stopped (E0606,
/// E0605).
struct call_outcome {
  call_tally tally;
  /// Set where the call was a training step that was decided.
  std::optional<step_record> step = std::nullopt;
  std::optional<error> cause;
  /// From the order to load to the last fold.
  std::chrono::nanoseconds wall{0};
  std::uint64_t replayed = 0;
  /// fold_ledger::duplicates_dropped() at the end of the call.
  std::uint64_t dropped_so_far = 0;
};

/// The call has folded less than the `asked` micro-batches (those of an earlier run are counted), or was ended before
/// it was known that these were all.
[[nodiscard]] inline bool is_partial(const call_outcome& outcome, std::uint64_t asked) noexcept {
  return outcome.tally.cancelled || outcome.tally.folded < asked;
}
/// The number of micro-batches that were loaded and are missing in the result, although nothing ended the call early.
[[nodiscard]] inline std::uint64_t lost_of(const call_outcome& outcome) noexcept {
  return outcome.tally.cancelled ? 0 : outcome.tally.expected - outcome.tally.folded;
}

/// A request for one evaluation, with the objects that the actors need for it in addition to the values of open_call.
/// The submitter keeps the future. The director fulfils it exactly once, whatever happens.
struct call_ticket {
  /// Given by the director, in the order of submission.
  call_number number = 0;
  std::shared_ptr<micro_batch_source> source;
  /// What an earlier run has folded of the call. The source begins with the micro-batch start.first().
  call_start start;
  /// Makes a scorer for a sink. Called once per replica of the stage that serves the sink: each engine thread has its
  /// own.
  std::function<std::shared_ptr<scorer>(std::uint32_t sink)> make_scorer;
  /// What the scorers of stages in worker processes are made from.
  scoring in_workers;
  /// Brings a worker's score into the form of make_scorer's scores, or says which part of the score cannot be true.
  /// Empty: it has that form already.
  std::function<std::optional<std::string>(score& said)> unpack;
  /// By sink, the number of words of a score of at least one sample; 0 where it differs. Empty: not known.
  std::vector<std::size_t> score_words;
  /// One fold per sink. The submitter reads them when the future is ready.
  std::vector<std::shared_ptr<call_fold>> folds;
  /// The call is a step of training, and ends with a decision.
  bool trains = false;
  /// What the journal keeps of the scores of a step (step_record::folded), once all are folded. The director calls it
  /// on the thread that folds. Empty: nothing is kept.
  std::function<std::vector<std::uint64_t>()> folded_words = {};
  std::promise<call_outcome> done;
};

using call_ticket_ptr = std::shared_ptr<call_ticket>;

}  // namespace troupe
