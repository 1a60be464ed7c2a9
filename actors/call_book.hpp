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

/// The open calls of a run: what the director knows of them. No actor is spoken to here.
///
///   opening --all acknowledged--> opened --take_loadable()--> loading --close()--> (gone)
///   any of them --cancel()--> cancelling --close()--> (gone)
///
/// Calls are numbered, and become loading, in the order of submission. Threads: one.
class call_book {
 public:
  enum class phase : std::uint8_t { opening, opened, loading, cancelling };
  struct call {
    call_ticket_ptr ticket;
    phase now = phase::opening;
    /// Stages that have not acknowledged the call, and whether the aggregator has not.
    std::set<stage_address> missing;
    bool aggregator_missing = true;
    /// Why it is being cancelled.
    std::optional<error> cause;
    /// When it became loading, by steady_now(); 0 before.
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
  /// A new call, which gets the next number. The book is not full.
  call_number open(const call_ticket_ptr& ticket);

  /// While the call is opening it waits for this stage, too.
  void await(call_number number, stage_address at);
  /// Unknown calls are ignored: they may have ended meanwhile.
  void acknowledge(call_number number, stage_address at);
  void acknowledge_by_aggregator(call_number number);
  /// The stage is lost, and acknowledges nothing any more.
  void excuse(stage_address at);

  /// Calls that are acknowledged, up to the first one that is not; they are loading from now on.
  [[nodiscard]] std::vector<call_number> take_loadable(std::chrono::nanoseconds now);

  /// False for a call that is unknown or being cancelled already: the first cause stays.
  [[nodiscard]] bool cancel(call_number number, const error& cause);
  /// Every call that is open now is to end after its last loaded micro-batch. Returns those that are not yet loading,
  /// as nothing of them could be finished.
  [[nodiscard]] std::vector<call_number> cut();
  /// Calls below it were cut.
  [[nodiscard]] call_number cut_below() const noexcept { return cut_below_; }

  /// The call has ended; nothing if it was closed before.
  [[nodiscard]] std::optional<call> close(call_number number);
  [[nodiscard]] std::map<call_number, call> close_all();

  /// Where stages that take ids in order begin in a new epoch, of which the loader sends `first_sent` first. A call may
  /// end after the loader has named one of its micro-batches. A new stage never heard of that call, the others have
  /// forgotten it and pass on no part of that call: no stage may wait for it.
  [[nodiscard]] micro_batch_id first_awaited(micro_batch_id first_sent) const;

 private:
  void open_if_acknowledged(call& entry);

  std::map<call_number, call> calls_;
  call_number next_number_ = 0;
  call_number next_to_load_ = 0;
  call_number cut_below_ = 0;
};

}  // namespace troupe
