#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "messages/call_size.hpp"
#include "messages/score.hpp"
#include "runtime/ledger/call_fold.hpp"

namespace troupe {

/// The ledger's account of an ended call.
struct call_tally {
  call_number call = 0;
  std::uint64_t expected = 0;  ///< micro-batches of the call; if cancelled before its end was known, those folded
  std::uint64_t folded = 0;    ///< least over the sinks
  std::uint64_t samples = 0;   ///< folded samples of sink 0
  std::uint64_t duplicates_dropped = 0;
  bool cancelled = false;
  std::optional<error> cause = {};  ///< set when a fold failed and the ledger itself cancelled the call
};

/// How far an earlier run came with a call: the number of folded micro-batches per sink. Empty: the call is new.
struct call_start {
  std::vector<std::uint64_t> folded;
  /// Samples folded at sink 0.
  std::uint64_t samples = 0;

  /// The index of the first micro-batch that some sink has not folded. The loader begins there.
  [[nodiscard]] std::uint64_t first() const noexcept;
};

/// When a call is complete: with its last score, or, if it is a step of training, with its decision.
enum class call_end : std::uint8_t { when_folded, when_committed };

struct ledger_options {
  std::uint32_t sinks = 1;
  /// The greatest number of scores that are held per sink: the loader's window.
  std::uint64_t window = 1;
  /// false only in mutation tests, which must then find a micro-batch folded twice.
  bool deduplicate = true;
  /// Above 0 only in mutation tests: the low-water mark is too high by this number, so that a replay misses
  /// micro-batches.
  std::uint64_t mark_lead = 0;
};

/// Counts every micro-batch exactly once: it folds scores in id order, drops duplicates, and holds scores that come
/// early. It is the state of the aggregator, and owned outside that actor, so that the actor's death loses nothing.
///
/// Invariants: every sink has a cursor. All ids below the cursor are folded or belong to a cancelled call, and no id at
/// the cursor or above is folded. The low-water mark is the least cursor. A call is complete when its size is known and
/// every sink has folded all its micro-batches.
///
/// A call that ends when it is committed is a step of training (docs/decisions/0044). Its scores are folded, held and
/// dropped as those of other calls, but the mark stays at {call, 0} and no later call is folded until commit(): a
/// micro-batch whose loss is folded is still needed for its gradient. Threads: one at a time.
class fold_ledger {
 public:
  enum class verdict : std::uint8_t { folded, held, duplicate, cancelled };

  explicit fold_ledger(ledger_options options);

  /// The call begins; called in the order of the calls, before the first score of `call`. `folds` has one fold per
  /// sink. The folds already have the micro-batches that `start` names, whose scores are duplicates.
  void begin(call_number call, std::vector<std::shared_ptr<call_fold>> folds, const call_start& start = {},
             call_end end = call_end::when_folded);
  /// Folds or holds a score. A fold that fails cancels its call at every sink; take_ended() gives the cause.
  verdict fold(score next);
  /// Sets the number of micro-batches of a call.
  void close(const call_size& end);
  /// The call is a step that waits for its decision, its size is known, every sink has folded all its micro-batches,
  /// and no call before it is open: an empty step could otherwise be decided before them. False for one that was
  /// cancelled or has ended.
  [[nodiscard]] bool is_folded(call_number call) const;
  /// The one call that is folded in this way, if there is one.
  [[nodiscard]] std::optional<call_number> folded_step() const;
  /// The decision of a step is in the journal: the call is complete, and the low-water mark passes it. Requires
  /// is_folded(), except that it does nothing to a call that was cancelled or has ended, so that it may be repeated.
  void commit(call_number call);
  /// Drops held and later scores of the call; the low-water mark passes it.
  void cancel(call_number call);

  /// Cancels the call, unless it has ended, and returns its account. Nothing is folded into the call after that.
  /// Nothing is returned for a call that has not begun, or that is not among the last limits::calls_queued_max that
  /// have ended.
  [[nodiscard]] std::optional<call_tally> abandon(call_number call);

  /// The number of duplicates that were dropped, in all calls since the start.
  [[nodiscard]] std::uint64_t duplicates_dropped() const noexcept { return duplicates_; }
  /// All micro-batches below it are folded or cancelled.
  [[nodiscard]] micro_batch_id low_water() const noexcept;
  /// The next call that has completed or was cancelled, in call order, each once.
  [[nodiscard]] std::optional<call_tally> take_ended();
  /// The present account of a call that take_ended() has not given yet.
  [[nodiscard]] std::optional<call_tally> tally(call_number call) const;

 private:
  struct cursor {
    micro_batch_id next;
    std::map<micro_batch_id, score> held;
  };
  struct call_state {
    std::vector<std::shared_ptr<call_fold>> folds;
    std::vector<std::uint64_t> folded;
    std::optional<std::uint64_t> count;
    bool may_end = true;  ///< false: a step that waits for its decision
    call_tally tally;
  };

  void fold_in_order(cursor& at, call_state& call, const score& next);
  static void count(call_state& call, const score& folded);
  void advance(std::uint32_t sink);
  void advance_all();
  [[nodiscard]] static bool has_all(const call_state& call, std::uint32_t sink);
  [[nodiscard]] bool skip_finished_call(cursor& at, std::uint32_t sink) const;
  [[nodiscard]] micro_batch_id first_of(call_number call, std::uint32_t sink) const;
  [[nodiscard]] micro_batch_id least_cursor() const noexcept;
  void drop_held(micro_batch_id from, call_number call);
  void retire();

  ledger_options options_;
  std::vector<cursor> cursors_;
  std::map<call_number, call_state> calls_;
  call_number next_to_begin_ = 0;
  std::deque<call_tally> ended_;
  /// The calls that have ended last, for abandon().
  std::deque<call_tally> known_;
  /// The number of folds that have failed since the start.
  std::uint64_t failed_ = 0;
  std::uint64_t duplicates_ = 0;
};

}  // namespace troupe
