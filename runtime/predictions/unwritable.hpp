#pragma once

#include <string>

#include "runtime/os/errno_text.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// E0611. `reason` is errno.
inline tl::unexpected<error> predictions_unwritable(const std::string& file, int reason) {
  return fail(error_code::output_unwritable, file, "the predictions cannot be written: " + errno_text(reason),
              "make room, or name a file in a directory that can be written (--predictions)");
}

}  // namespace troupe
