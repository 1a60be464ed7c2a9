#pragma once

namespace troupe {

/// The number of abandoned threads of this process, which has_abandoned_threads() of <troupe/evaluator.hpp> compares
/// with zero. An abandoned thread runs a user's code (model, stage, hook) that did not return in time; no thread joins
/// it. Its owner adds one when it gives up. A thread that can tell that it was abandoned removes one when that code
/// returns: after its owner has added it, which both decide under one lock (side_thread). Any thread.
void add_abandoned_thread() noexcept;
void remove_abandoned_thread() noexcept;

}  // namespace troupe
