#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>

#include "program/run/trained_state.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// A copy of all states that a thread of its own makes while the next step is computed. Threads: one at a time.
class background_copy {
 public:
  using make_function = std::function<expected<training_snapshot>(const std::stop_token& given_up)>;
  struct finished {
    expected<training_snapshot> state;
    /// Kept steps that are before it.
    std::size_t steps = 0;
  };

  background_copy() = default;
  background_copy(const background_copy&) = delete;
  background_copy& operator=(const background_copy&) = delete;
  ~background_copy() { static_cast<void>(take(true)); }

  /// There is none, or it was taken.
  void begin(std::size_t steps, make_function make);
  /// Waits for the copy; nothing where none was begun. `gives_up`: for a stage that has not come to the state yet, it
  /// waits no more.
  [[nodiscard]] std::optional<finished> take(bool gives_up);

 private:
  std::thread maker_;
  std::stop_source given_up_;
  std::optional<finished> made_;
};

}  // namespace troupe
