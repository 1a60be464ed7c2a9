#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// Lines for the log about refused connections. An untrusted peer may make any number: limits::refusals_told_max are
/// told in each limits::log_repeat_interval, without their fixes, and the others are counted. Threads: one at a time.
class refusal_limit {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// The lines to write now: the refusal; or, at the first that is only counted, that it is; or nothing. The first of a
  /// later interval comes behind the count. `now` never decreases.
  [[nodiscard]] std::vector<std::string> take(const error& why, time_point now);

 private:
  std::optional<time_point> began_;
  std::size_t told_ = 0;
  std::uint64_t counted_ = 0;
};

}  // namespace troupe
