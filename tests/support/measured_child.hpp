#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/peak_memory.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {

/// A trial in a process of its own, so that a crash, an endless loop and its memory are seen from outside.
struct measured_child {
  /// Address space in bytes, but not under sanitizers.
  std::uint64_t memory_max = 0;
  unsigned seconds_max = 10;
  /// Before memory is measured: takes what any first use takes.
  std::function<void()> warm_up;
  /// Its text is the outcome.
  std::function<std::string()> run;
};

struct child_outcome {
  /// Or "killed by SIGNAL".
  std::string text;
  /// What run() took above what was there before, at its peak.
  std::uint64_t more_bytes = 0;
};

/// In the child: ends the process.
[[noreturn]] inline void run_measured(const measured_child& what, int output) {
  ::alarm(what.seconds_max);
  const rlimit room{what.memory_max, what.memory_max};
  if (!instrumented) ::setrlimit(RLIMIT_AS, &room);
  what.warm_up();
  ::malloc_trim(0);
  reset_peak();
  const std::uint64_t before = memory_now("VmRSS");
  std::string text = what.run();
  text += "\n" + std::to_string(memory_now("VmHWM") - before);
  const bool is_written = ::write(output, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::_exit(is_written ? 0 : 1);
}

inline child_outcome outcome_in_child(const measured_child& what) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) run_measured(what, ends[1]);
  ::close(ends[1]);
  child_outcome outcome;
  char piece[4096];
  for (ssize_t got = 0; (got = ::read(ends[0], piece, sizeof piece)) > 0;) outcome.text.append(piece, got);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return {.text = std::string("killed by ") + ::strsignal(WTERMSIG(status))};
  const std::size_t end = outcome.text.rfind('\n');
  if (end == std::string::npos) return outcome;
  outcome.more_bytes = std::stoull(outcome.text.substr(end + 1));
  outcome.text.resize(end);
  return outcome;
}

}  // namespace troupe::testing
