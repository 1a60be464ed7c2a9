#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <troupe/error.hpp>
#include <troupe/log_record.hpp>

namespace troupe {

struct log_writer_options {
  /// Lines are appended to it, each with its time; empty: stderr, where text has no time.
  std::string file = {};
  log_format format = log_format::text;
  /// The name is Troupe's, and others may know it: no link is followed, and the file is a regular one of this user with
  /// no other name.
  bool is_own_name = false;
  /// Gets the lines, each with its end, in place of stderr. Not beside `file`.
  std::function<void(std::string_view line)> output = {};
};

/// Writes records as lines to one place, equal ones once (repeat_limit). A line is written when write() returns; a
/// stderr that is not read loses lines (message_writer). Threads: any. The object must not be used after a fork.
class log_writer {
 public:
  /// Opens the file, and makes it if need be. E0611 with the path and the reason.
  [[nodiscard]] static expected<std::unique_ptr<log_writer>> open(const log_writer_options& options);
  log_writer(const log_writer&) = delete;
  log_writer& operator=(const log_writer&) = delete;
  /// Tells of repeats that were only counted so far.
  ~log_writer();

  /// A file that takes no more, such as on a full disk, is told on stderr once, and the run goes on.
  void write(log_record record);

 private:
  struct impl;
  explicit log_writer(std::unique_ptr<impl> state);
  std::unique_ptr<impl> impl_;
};

}  // namespace troupe
