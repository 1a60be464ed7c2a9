#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace troupe {

/// When the first micro-batch of a run was sent: all times of a fault plan count from there, in every process. Threads:
/// any.
class run_start {
 public:
  using clock = std::chrono::steady_clock;

  /// Only the first time counts.
  void begin(clock::time_point when = clock::now()) noexcept {
    std::int64_t none = not_yet;
    ns_.compare_exchange_strong(none, when.time_since_epoch().count());
  }
  /// Nothing before.
  [[nodiscard]] std::optional<clock::time_point> began() const noexcept {
    const std::int64_t ns = ns_.load();
    return ns == not_yet ? std::nullopt : std::optional(clock::time_point{clock::duration{ns}});
  }

 private:
  static constexpr std::int64_t not_yet = -1;
  std::atomic<std::int64_t> ns_{not_yet};
};

}  // namespace troupe
