#pragma once

#include <string>

#include "runtime/edge/tcp/edge_key.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// E0708 about the edge and the peer, with what happened as its cause.
[[nodiscard]] error lost_edge(const edge_key& key, const std::string& peer, const error& why);

/// E0702: a frame that is in order, but not here and now.
[[nodiscard]] tl::unexpected<error> unexpected_frame(std::string what);

}  // namespace troupe
