#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "messages/training.hpp"
#include "runtime/journal/journal_tail.hpp"
#include "runtime/journal/step_record.hpp"
#include "runtime/step/step_replay.hpp"

namespace troupe {

/// How the steps of a training are decided.
struct step_policy {
  /// As a function of step_decision::step alone. Code of a user: it may throw, and give infinity or NaN.
  std::function<double(std::uint64_t step)> learning_rate;
  /// Gradients of a greater norm are scaled down to it; above 0.
  std::optional<double> clip_norm = std::nullopt;
  /// The first decision of this run has these: what the checkpoint with which it begins has behind it.
  std::uint64_t first_step = 0;
  std::uint64_t first_number = 0;
};

/// Decides about training steps: it collects the votes of all replicas of all stages, and makes one decision of them,
/// which is in the journal when decide() returns it (docs/decisions/0044). The director owns it, as it begins the
/// epochs; whether the scores of a call are folded it hears from the aggregator.
///
/// A step whose samples have no weight at all, as when every label is to be ignored, has no mean gradient (0/0, which
/// is NaN in torch). It is decided not to be applied: there is nothing to learn from, and weights, moments and the
/// number of the step stay as they are, where an error would end a long run for one odd batch.
///
/// Calls that were cancelled take no number. Threads: one at a time.
class step_ledger {
 public:
  enum class verdict : std::uint8_t {
    counted,
    stale,  ///< of an older epoch, or of a call that was decided or cancelled
    duplicate
  };

  /// `voters`: every replica of every stage that trains, each once. `journal`: null where there is none. `earlier`:
  /// decisions that must be made again, and are not appended a second time.
  step_ledger(std::vector<stage_address> voters, step_policy policy,
              std::shared_ptr<journal_appender> journal = nullptr, step_replay earlier = step_replay());

  /// In place of what the constructor was given, before the first call begins.
  void keep(std::shared_ptr<journal_appender> journal, step_replay earlier);

  /// A call that is a step begins; in the order of the calls, among which others may be, and before the first vote.
  void begin(call_number call);
  /// The stages of this epoch do again every step that is not decided: votes of older epochs are forgotten, and do not
  /// count when they come. An epoch that is not newer than the present one has no effect.
  void begin_epoch(epoch_number epoch);

  /// E0617, which leaves the ledger as it was: the vote of a stage that does not vote, with another number of
  /// parameters than this stage had before, about a call that has not begun, or of an epoch that has not.
  [[nodiscard]] expected<verdict> vote(step_vote next);

  /// All votes of the call are there, and the replicas of some stage have not seen all of its micro-batches: an edge
  /// has lost one, or brought it too late. There is no decision then; the step is to be done again in a new epoch.
  [[nodiscard]] bool lacks_work(call_number call, std::uint64_t micro_batches) const;
  /// To be asked when a vote was counted and when a call's scores were all folded; `folded`: see step_record. The
  /// decision, when the votes of all voters of the present epoch are there; nothing before that, and for a call that
  /// is not the first undecided one. It may be told from now on: it is in the journal. Errors, after which the call is
  /// to be cancelled, and does not count any more here: those of add_votes(); E0103 where there is no learning rate;
  /// E0801 where a resumed run decides otherwise than the journal; E0803.
  [[nodiscard]] expected<std::optional<step_record>> decide(call_number call, std::vector<std::uint64_t> folded = {});
  /// The call is not decided any more. No effect on one that was: its decision stands.
  void cancel(call_number call);

  /// The step that is to be decided next, among those that have begun.
  [[nodiscard]] std::optional<call_number> first_undecided() const;
  /// Is told again to a stage that starts, and to all when an epoch begins. No stage lacks an older one, because it
  /// votes only when it has carried out the one before.
  [[nodiscard]] const std::optional<step_record>& last_decision() const noexcept { return last_; }
  /// Decisions of an earlier run that are still to be made again.
  [[nodiscard]] std::size_t replays_left() const noexcept { return earlier_.left(); }

 private:
  /// By position of the voter.
  using votes = std::vector<std::optional<step_vote>>;

  [[nodiscard]] expected<step_record> make_decision(const votes& given, std::vector<std::uint64_t> folded);
  [[nodiscard]] expected<double> rate_of(std::uint64_t step) const;
  [[nodiscard]] expected<void> write(const step_record& made);

  std::vector<stage_address> voters_;
  step_policy policy_;
  std::shared_ptr<journal_appender> journal_;
  step_replay earlier_;
  epoch_number epoch_ = 0;
  std::map<call_number, votes> undecided_;
  call_number next_to_begin_ = 0;
  /// By stage, once one of its replicas has voted.
  std::map<stage_index, std::size_t> parameters_;
  std::optional<step_record> last_;
};

}  // namespace troupe
