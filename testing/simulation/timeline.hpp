#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "testing/simulation/chance.hpp"
#include "testing/simulation/hash_chain.hpp"
#include "testing/simulation/history.hpp"

namespace troupe::simulation {

using nanoseconds = std::chrono::nanoseconds;
using namespace std::chrono_literals;

inline constexpr nanoseconds start_of_time = 1h;

/// Actions by virtual time; equal times in the order in which they were added.
class timeline {
 public:
  using action = std::function<void()>;

  void at(nanoseconds when, action what) { waiting_.push({when, said_++, std::move(what)}); }
  [[nodiscard]] std::optional<nanoseconds> next() const {
    return waiting_.empty() ? std::nullopt : std::optional(waiting_.top().when);
  }
  void do_next() {
    // The heap compares times alone.
    action what = std::move(const_cast<entry&>(waiting_.top()).what);
    waiting_.pop();
    what();
  }

 private:
  struct entry {
    nanoseconds when;
    std::uint64_t said;
    action what;
    friend bool operator<(const entry& a, const entry& b) {
      return a.when != b.when ? a.when > b.when : a.said > b.said;
    }
  };
  std::priority_queue<entry> waiting_;
  std::uint64_t said_ = 0;
};

/// Notes what happens, and sums it up.
class recorder {
 public:
  void note(event what) {
    if (is_silent) return;
    what.driver = driver;
    digest_ = mix(mix(mix(digest_, static_cast<std::uint64_t>(what.at_ns)),
                      mix(static_cast<std::uint64_t>(what.what), what.worker)),
                  mix(mix(what.call, what.index), mix(what.value, what.other ^ (what.epoch << 32u))));
    events.push_back(what);
  }
  [[nodiscard]] std::uint64_t digest() const noexcept { return digest_; }

  bool is_silent = false;
  std::uint32_t driver = 0;
  history events;
  /// By a user's code, last.
  std::string thrown;

 private:
  std::uint64_t digest_ = 0;
};

}  // namespace troupe::simulation
