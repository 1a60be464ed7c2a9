#pragma once

namespace troupe {

/// The number of abandoned threads of this process, which has_abandoned_threads() of <troupe/evaluator.hpp> compares
/// with zero. An abandoned thread runs a user's code (model, stage, hook) that did not return in time; no thread joins
/// it. Its owner adds one when it gives up. The thread removes one if that code returns later. Any thread.
void add_abandoned_thread() noexcept;
void remove_abandoned_thread() noexcept;

}  // namespace troupe
