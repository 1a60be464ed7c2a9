#pragma once

namespace troupe {

/// Some thread of this library runs code that is not its own, a model's, a stage's or a hook's, and was left behind as
/// that code did not return in time. A program must not wait for it, nor destroy what it may use: leave by std::_Exit.
[[nodiscard]] bool has_abandoned_threads() noexcept;

/// Keeps the count. A thread that ends after all takes itself off.
void count_abandoned_thread() noexcept;
void forget_abandoned_thread() noexcept;

}  // namespace troupe
