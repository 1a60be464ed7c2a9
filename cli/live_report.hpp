#pragma once

#include <chrono>
#include <optional>

#include "runtime/report/progress.hpp"
#include <troupe/evaluator.hpp>

namespace troupe::cli {

/// Progress and log lines of a running evaluation, on stderr. Its hooks are called by one thread; finish() is for after
/// them.
class live_report {
 public:
  live_report();
  /// They refer to this object.
  [[nodiscard]] evaluation_hooks hooks();
  void finish();

 private:
  void show(const progress_update& update);
  void log(const std::string& line) const;

  using clock = std::chrono::steady_clock;
  bool terminal_;
  progress_printer printer_;
  std::optional<clock::time_point> begin_;
};

}  // namespace troupe::cli
