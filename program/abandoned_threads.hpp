#pragma once

namespace troupe {

/// Keeps the count that has_abandoned_threads() reads. A thread that ends after all takes itself off.
void count_abandoned_thread() noexcept;
void forget_abandoned_thread() noexcept;

}  // namespace troupe
