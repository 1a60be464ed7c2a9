#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "messages/limits.hpp"
#include <troupe/error.hpp>
#include <troupe/ids.hpp>
#include <troupe/trace_event.hpp>

namespace troupe {

/// Numbers the events of one run over all engines. Relaxed is enough: numbers come from one atomic word, so if one draw
/// happens before another (in one thread, or through an edge), its number is the smaller one.
class trace_clock {
 public:
  [[nodiscard]] std::uint64_t draw() noexcept { return next_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> next_{0};
};

/// The trace of one engine. Only the engine's thread records; others read after it has been joined. Bounded: what does
/// not fit is counted and dropped, and gather_trace() says so.
///
/// When numbers are drawn. Two engines' numbers can be compared only if each is drawn on the right side of what it
/// stands for:
///  - LoadMicroBatch, RecvActivation: after the take from the inbound edge (record()).
///  - ForwardPass: after the forward returned, and before the inbound slot is released (record()).
///  - SendActivation: draw() after credits() > 0 was seen and before try_send(); record_at() once that says `sent`.
///  Without
///    credit nothing is drawn. The inbound slot is released after that.
/// It follows, for every run without a fault, that
///  - send < receive: the draw precedes the publication, and the receiver draws after the take;
///  - a stage's end of micro-batch m (its own SendActivation, on the last stage its ForwardPass) < the upstream
///  SendActivation
///    that used the slot of m again: end is drawn, slot is released, upstream sees the credit, upstream draws. So
///    counting a micro-batch as live from the upstream number to the own one never counts more than the edge has slots,
///    and no marker for the release itself is needed. (Were a send's number drawn before its credit is seen, a correct
///    run could look as if it had one too many.)
class trace_recorder {
 public:
  /// The clock must outlive the recorder. `capacity` bounds the events kept.
  trace_recorder(trace_clock& clock, stage_address where, std::size_t capacity = limits::trace_events_max)
      : clock_(&clock), where_(where), capacity_(capacity) {}

  [[nodiscard]] std::uint64_t draw() noexcept { return clock_->draw(); }
  /// The instruction has just been executed.
  void record(instruction_kind what, micro_batch_id id, std::uint32_t buffer) { record_at(draw(), what, id, buffer); }
  /// The instruction was executed, and `order` was drawn before it.
  void record_at(std::uint64_t order, instruction_kind what, micro_batch_id id, std::uint32_t buffer);

  [[nodiscard]] stage_address where() const noexcept { return where_; }
  [[nodiscard]] std::span<const trace_event> events() const noexcept { return events_; }
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  trace_clock* clock_;
  stage_address where_;
  std::size_t capacity_;
  std::vector<trace_event> events_;
  std::uint64_t dropped_ = 0;
};

/// All events of a run by ascending order number. E0613 if a recorder had to drop some: such a trace proves nothing.
expected<std::vector<trace_event>> gather_trace(std::span<const trace_recorder* const> recorders);

}  // namespace troupe
