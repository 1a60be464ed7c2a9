#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "messages/limits.hpp"
#include "runtime/edge/doorbell.hpp"

namespace troupe {

enum class step_result : std::uint8_t {
  progressed,  ///< did a unit of work; there may be more: step again
  idle,        ///< looked at every edge and the command queue, and there is nothing to do until the bell rings
  finished,    ///< stopped for good; never step again
};

/// A state machine that does the work of a stage or a loader, one unit per step. In production an engine_thread drives
/// it; in simulation messages do. It knows neither.
///
/// Threads: on_thread_start(), then step(), from one thread at a time; bell() and name() from any.
/// Order: everything that gives an idle engine work (data, credit, command, rewiring) is published first and then rings
/// the bell, so that `idle` is never the last word while there is work.
/// Errors: an exception that leaves step() is a broken invariant; what fails in operation the engine itself reports.
class engine {
 public:
  engine() = default;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  virtual ~engine() = default;

  /// One unit of work, at most one forward. Never blocks, never waits. An `idle` step is cheap: it runs before every
  /// park and while spinning.
  [[nodiscard]] virtual step_result step() = 0;

  /// How long the engine may sleep at the most after an idle step, though nobody rings: shorter than park_max while it
  /// holds something back that must leave by a certain time.
  [[nodiscard]] virtual std::chrono::nanoseconds park_limit() const noexcept { return limits::park_max; }

  /// What rings when there may be work again. Lives as long as the engine and everything that was given its address.
  [[nodiscard]] virtual doorbell& bell() noexcept = 0;

  /// Once, in the thread that will step, before the first step (thread counts, caches).
  virtual void on_thread_start() {}

  /// For logs and, cut to 15 characters, as the thread's name.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
};

}  // namespace troupe
