#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "messages/end_of_call.hpp"
#include "messages/score.hpp"
#include "runtime/engine/call_fold.hpp"

namespace troupe {

/// How a call ended, as far as the ledger is concerned.
struct call_tally {
  call_number call = 0;
  std::uint64_t expected = 0;  ///< micro-batches of the call; what was folded, if the call was cancelled before its end
  std::uint64_t folded = 0;    ///< least over the sinks
  std::uint64_t samples = 0;   ///< folded samples of sink 0
  std::uint64_t duplicates_dropped = 0;
  bool cancelled = false;
  std::optional<error> cause;  ///< set when a fold failed and the ledger itself cancelled the call
};

/// What an earlier run folded of a call: of each sink the first so many micro-batches. Empty: nothing.
struct call_start {
  std::vector<std::uint64_t> folded;
  /// Of sink 0.
  std::uint64_t samples = 0;

  /// The first micro-batch that is not folded on every sink: where the loader begins.
  [[nodiscard]] std::uint64_t first() const noexcept;
};

struct ledger_options {
  std::uint32_t sinks = 1;
  /// Ids held back at the most, per sink: the loader's window.
  std::uint64_t window = 1;
  /// Off only in mutation tests, which must then see a micro-batch folded twice.
  bool deduplicate = true;
};

/// Exactly once: folds scores in id order, drops what it has folded or holds already, holds what comes early. It is the
/// aggregator's state, owned outside that actor, so that the actor's death loses nothing.
///
/// Invariants: per sink everything below its cursor is folded (or belongs to a cancelled call), nothing at or above it
/// is; the low-water mark is the least cursor. A call is complete when its end is known and every sink has folded all
/// of it. Threads: one at a time.
class fold_ledger {
 public:
  enum class verdict : std::uint8_t { folded, held, duplicate, cancelled };

  explicit fold_ledger(ledger_options options);

  /// Before the first score of `call`; calls begin in order. One fold per sink, which has folded what `start` says
  /// already: it counts as folded here, and is a duplicate when it comes again.
  void begin(call_number call, std::vector<std::shared_ptr<call_fold>> folds, const call_start& start = {});
  /// A fold that fails cancels its call, here; take_ended() tells the cause.
  verdict fold(score next);
  /// The call's count is known now.
  void close(const end_of_call& end);
  /// Drops what is held of the call; the low-water mark jumps over it. Later scores of it are dropped.
  void cancel(call_number call);

  /// All micro-batches below it are folded or cancelled.
  [[nodiscard]] micro_batch_id low_water() const noexcept;
  /// The next call that has completed or was cancelled, in call order, each once.
  [[nodiscard]] std::optional<call_tally> take_ended();
  /// Folded so far of a call that has not been taken yet.
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
    call_tally tally;
  };

  void fold_in_order(cursor& at, call_state& call, const score& next);
  void advance(std::uint32_t sink);
  [[nodiscard]] bool skip_finished_call(cursor& at, std::uint32_t sink) const;
  [[nodiscard]] micro_batch_id first_of(call_number call, std::uint32_t sink) const;
  void drop_held(micro_batch_id from, call_number call);
  void retire();

  ledger_options options_;
  std::vector<cursor> cursors_;
  std::map<call_number, call_state> calls_;
  call_number next_to_begin_ = 0;
  std::deque<call_tally> ended_;
};

}  // namespace troupe
