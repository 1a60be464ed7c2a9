#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/log/log_writer.hpp"
#include "runtime/report/progress.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/trainer.hpp>

namespace troupe::cli {

/// Progress and log lines of a running evaluation or training, on stderr. Its hooks are called by one thread; finish()
/// is for after them.
class live_report {
 public:
  /// The log's lines come in this format, unless it goes to a file, which the evaluation writes itself. E0611.
  [[nodiscard]] static expected<std::unique_ptr<live_report>> start(const log_options& options);
  /// They refer to this object.
  [[nodiscard]] evaluation_hooks hooks();
  /// The same for a training, whose progress comes on the thread of run().
  [[nodiscard]] train_hooks training_hooks();
  /// Tells what has been counted of repeated lines, and completes the progress.
  void finish();

 private:
  live_report();
  void show(const progress_update& update);
  void show(const train_progress& progress);
  void draw(progress_state state);

  using clock = std::chrono::steady_clock;
  bool terminal_;
  progress_printer printer_;
  std::optional<clock::time_point> begin_;
  /// The steps that a training had done when it was first heard of.
  std::optional<std::uint64_t> first_step_;
  /// Null where the log goes to a file.
  std::unique_ptr<log_writer> log_;
};

}  // namespace troupe::cli
