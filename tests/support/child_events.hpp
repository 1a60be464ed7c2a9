#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

namespace troupe::testing {

/// What a child process has come to, for its parent, which waits for a number of events and then, for example, kills
/// it. Made before the fork; both use it.
class child_events {
 public:
  child_events() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  child_events(const child_events&) = delete;
  child_events& operator=(const child_events&) = delete;
  ~child_events() {
    for (const int end : ends_) ::close(end);
  }

  /// In the child.
  void say() const {
    const char event = 0;
    if (::write(ends_[1], &event, 1) != 1) ::_exit(1);
  }
  /// In the parent, at most one minute for each event, or until the child has ended: then false.
  [[nodiscard]] bool wait_for(std::size_t events) {
    close_writing_end();
    constexpr int minute_ms = 60'000;
    for (std::size_t seen = 0; seen < events; ++seen) {
      pollfd there{ends_[0], POLLIN, 0};
      char event = 0;
      if (::poll(&there, 1, minute_ms) != 1 || ::read(ends_[0], &event, 1) != 1) return false;
    }
    return true;
  }

 private:
  /// So that the end of the child ends the wait.
  void close_writing_end() {
    ::close(ends_[1]);
    ends_[1] = -1;
  }

  std::array<int, 2> ends_{};
};

}  // namespace troupe::testing
