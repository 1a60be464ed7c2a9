#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "runtime/log/log_writer.hpp"
#include <troupe/error.hpp>
#include <troupe/options.hpp>

namespace troupe {

/// Where the log of one or more runs goes (log_options): to a hook, a file, or stderr. The hooks that attach() gives
/// belong into a hook_caller, so that no thread of a run writes the log itself. Threads: any.
class run_log {
 public:
  /// Opens the file, if there is one. E0611.
  [[nodiscard]] static expected<run_log> open(const log_options& options);

  /// The same hooks, with an `on_log` that passes on records of the level asked for: to the file and to the hook that
  /// was there, or to stderr where there is neither.
  [[nodiscard]] evaluation_hooks attach(evaluation_hooks hooks) const;
  /// The same without file and stderr, for a call of a run whose log has a thread for hooks of its own.
  [[nodiscard]] evaluation_hooks attach_to_hook(evaluation_hooks hooks) const;
  /// Records that this `on_log` gets are in no other place.
  [[nodiscard]] bool is_replaced_by(const evaluation_hooks& hooks) const { return !has_file_ && hooks.on_log; }

 private:
  run_log(const log_options& options, std::shared_ptr<log_writer> writer)
      : level_(options.level), has_file_(!options.file.empty()), writer_(std::move(writer)) {}

  [[nodiscard]] evaluation_hooks attach_with(std::shared_ptr<log_writer> writer, evaluation_hooks hooks) const;

  std::optional<log_level> level_;
  bool has_file_;
  std::shared_ptr<log_writer> writer_;
};

}  // namespace troupe
