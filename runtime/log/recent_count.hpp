#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace troupe {

/// How often something has happened lately, in steps of a second. Threads: any.
class recent_count {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds span{10};

  void note(time_point now) {
    const std::lock_guard lock{mutex_};
    const std::int64_t second = second_of(now);
    step& at = steps_[static_cast<std::size_t>(second) % steps_.size()];
    if (at.second != second) at = {.second = second, .count = 0};
    ++at.count;
  }
  /// In the second of `now` and those before it, `span` in all.
  [[nodiscard]] std::uint64_t at(time_point now) const {
    const std::lock_guard lock{mutex_};
    std::uint64_t sum = 0;
    for (const step& each : steps_) {
      if (each.second > second_of(now) - span.count() && each.second <= second_of(now)) sum += each.count;
    }
    return sum;
  }

 private:
  struct step {
    std::int64_t second = -1;
    std::uint64_t count = 0;
  };
  static std::int64_t second_of(time_point now) {
    return std::chrono::floor<std::chrono::seconds>(now.time_since_epoch()).count();
  }

  mutable std::mutex mutex_;
  std::array<step, static_cast<std::size_t>(span.count())> steps_{};
};

}  // namespace troupe
