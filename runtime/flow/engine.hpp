#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "messages/limits.hpp"
#include "runtime/edge/doorbell.hpp"

namespace troupe {

enum class step_result : std::uint8_t {
  progressed,  ///< one unit of work is done; step again
  idle,        ///< no edge and no command has work; nothing to do until the bell rings
  finished,    ///< the engine has ended; never step again
};

/// A state machine that does the work of a stage or of the loader, one unit per step. In production an engine_thread
/// steps it, in simulation a scheduler with a seed.
///
/// Threads: on_thread_start(), then step(), from one thread at a time; bell() and name() from any.
/// Order: work for an idle engine (data, credit, command, rewiring) is published before the bell rings, so that an
/// engine never sleeps while there is work. Errors: the engine reports errors of operation itself. An exception that
/// leaves step() is a broken invariant.
class engine {
 public:
  engine() = default;
  engine(const engine&) = delete;
  engine& operator=(const engine&) = delete;
  virtual ~engine() = default;

  /// Does one unit of work, at most one forward. Never blocks. A step without work must be cheap: a thread makes many
  /// of them while it spins, and one before it sleeps.
  [[nodiscard]] virtual step_result step() = 0;

  /// How long the engine's thread may sleep after an idle step if the bell does not ring. Shorter than limits::park_max
  /// while the engine holds scores that must be sent in time.
  [[nodiscard]] virtual std::chrono::nanoseconds park_limit() const noexcept { return limits::park_max; }

  /// How long the engine's thread looks for work after an idle step before it sleeps, where the run lets engines spin.
  /// Zero: not at all.
  [[nodiscard]] virtual std::chrono::nanoseconds spin_budget() const noexcept { return std::chrono::nanoseconds{0}; }

  /// The bell that rings when there may be work. It must outlive every component that has its address.
  [[nodiscard]] virtual doorbell& bell() noexcept = 0;

  /// Called once in the stepping thread before the first step (thread counts, caches).
  virtual void on_thread_start() {}

  /// The name in the log; its first 15 characters are the name of the thread.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
};

}  // namespace troupe
