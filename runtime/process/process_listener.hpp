#pragma once

#include <string_view>

#include "runtime/process/exit_report.hpp"

namespace troupe {

enum class output_stream { standard_output, standard_error };

/// Told what happens to a worker, on the host's thread: all output first, then the end. Must not wait: as long as a
/// call lasts, no other worker is watched; and must not call process_host::start() or stop(). Must not throw.
class process_listener {
 public:
  process_listener() = default;
  process_listener(const process_listener&) = delete;
  process_listener& operator=(const process_listener&) = delete;
  virtual ~process_listener() = default;

  /// One line as it came, without its end, cut to worker_output_line_bytes_max; any bytes. The text lives as long as
  /// the call. Lines of one stream come in order.
  virtual void on_output(worker_id worker, output_stream stream, std::string_view line) = 0;

  /// Exactly once for every worker that was started, possibly before start() has returned its id.
  virtual void on_exit(const exit_report& report) = 0;
};

}  // namespace troupe
