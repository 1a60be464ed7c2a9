#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>

#include "program/probe_report.hpp"
#include <troupe/error.hpp>

namespace troupe {

struct probe_request {
  /// What is tried out, for errors: the model's file, "topology".
  std::string what;
  /// From the start of the process to its end.
  std::chrono::milliseconds patience{};
  /// Gets what the process prints; from any thread, must not wait.
  std::function<void(std::string)> log;
};

/// Tries a run out in a process of its own, which is this program with the same arguments and comes to
/// serve_if_asked(): whatever the model does there costs this process neither memory nor its life. Waits for its report
/// until `patience` is over or `stop` is asked for (E0607), and kills it then; it is gone when this returns. One that
/// is killed from outside is started again, limits::probe_attempts_max times in all. Errors: those that the process
/// reports; E0215 it crashed, was killed or did not end while it tried out; E0614 it cannot be started or ends before;
/// E0702 a report that is none.
[[nodiscard]] expected<probe_report> probe_in_process(const probe_request& request, const std::stop_token& stop);

}  // namespace troupe
