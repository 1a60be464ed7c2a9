#pragma once

namespace troupe {

/// The documented exit statuses of every program of Troupe (docs/errors.md).
enum class exit_status : int {
  ok = 0,
  failure = 1,
  usage = 2,
  bad_input = 3,
  work_lost = 4,
  deadline = 124,
  interrupted = 130,
};

}  // namespace troupe
