#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "actors/call_ticket.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>

namespace troupe {

/// What the director knows of the open calls of a run. This class sends no messages.
///
///   opening --aggregator and stages have acknowledged--> opened --take_loadable()--> loading --close()--> (gone)
///   any of them --cancel()--> cancelling --close()--> (gone)
///
/// Calls are numbered in the order of submission, and are loaded in that order. Threads: one.
class call_book {
 public:
  enum class phase : std::uint8_t { opening, opened, loading, cancelling };
  struct call {
    call_ticket_ptr ticket;
    phase now = phase::opening;
    /// The stages that have not acknowledged the call.
    std::set<stage_address> missing;
    bool aggregator_missing = true;
    /// It is a training step, and every score is folded: the number of its micro-batches.
    std::optional<std::uint64_t> folded;
    /// Why the call is being cancelled.
    std::optional<error> cause;
    /// When the loader was told to load it, by steady_now(); 0 before.
    std::chrono::nanoseconds started{0};
  };

  /// By number, ascending.
  [[nodiscard]] const std::map<call_number, call>& calls() const noexcept { return calls_; }
  [[nodiscard]] bool contains(call_number number) const { return calls_.contains(number); }
  [[nodiscard]] const call& at(call_number number) const { return calls_.at(number); }
  [[nodiscard]] bool empty() const noexcept { return calls_.empty(); }
  [[nodiscard]] std::optional<call_number> find(const call_ticket_ptr& ticket) const;

  /// No more than limits::calls_queued_max calls may be open.
  [[nodiscard]] bool full() const noexcept;
  /// Adds a call, which gets the next number. The book is not full.
  call_number open(const call_ticket_ptr& ticket);

  /// The call waits for the acknowledgement of this stage, too. Has no effect unless the call is opening.
  void await(call_number number, stage_address at);
  /// Unknown calls are ignored: they may have ended meanwhile.
  void acknowledge(call_number number, stage_address at);
  void acknowledge_by_aggregator(call_number number);
  void scores_are_folded(call_number number, std::uint64_t micro_batches);
  /// The stage is lost, and acknowledges nothing any more.
  void excuse(stage_address at);

  /// Returns the calls that the loader can be told to load: those that are opened, up to the first call that is still
  /// opening. They are loading from now on.
  [[nodiscard]] std::vector<call_number> take_loadable(std::chrono::nanoseconds now);

  /// Begins to cancel the call. False if the call is unknown or is being cancelled already: the first cause stays.
  [[nodiscard]] bool cancel(call_number number, const error& cause);
  /// Every call that is open now is to end after the micro-batches that were sent. Returns the calls that are not yet
  /// loading: the caller cancels them, as none of their micro-batches was sent.
  [[nodiscard]] std::vector<call_number> cut();
  /// All calls below this one were cut.
  [[nodiscard]] call_number cut_below() const noexcept { return cut_below_; }

  /// The call has ended. Returns its entry, or nothing if it was closed before.
  [[nodiscard]] std::optional<call> close(call_number number);
  [[nodiscard]] std::map<call_number, call> close_all();

  /// The micro-batch for which stages that take ids in order wait first in a new epoch. `first_sent` is the one that
  /// the loader has named as the first that it will send. Its call may have ended since. Then no stage may wait for
  /// that call: a new stage was never told of that call, and other stages drop all its micro-batches.
  [[nodiscard]] micro_batch_id first_awaited(micro_batch_id first_sent) const;

 private:
  void open_if_acknowledged(call& entry);

  std::map<call_number, call> calls_;
  call_number next_number_ = 0;
  call_number next_to_load_ = 0;
  call_number cut_below_ = 0;
};

}  // namespace troupe
