#pragma once

#include <string>
#include <utility>

#include <troupe/error.hpp>

namespace troupe {

/// The error of a preparation whose std::stop_token was told to stop: its caller has gone on, or says why.
inline tl::unexpected<error> stopped_early(std::string what) {
  return fail(error_code::call_cancelled, std::move(what), "its preparation was stopped");
}

}  // namespace troupe
