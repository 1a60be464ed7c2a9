#pragma once

#include <caf/io/scribe.hpp>

#include "actors/caf.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {

/// Gives CAF an end of a link, which checks what comes before CAF does: a frame that would crash CAF, or make it
/// allocate what no wire_message needs, ends the connection. From any thread; the system is made of a link_config.
/// CAF's network thread reads, writes and closes the socket from then on.
[[nodiscard]] caf::io::scribe_ptr make_link_scribe(caf::actor_system& system, unique_fd socket);

}  // namespace troupe
