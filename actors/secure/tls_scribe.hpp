#pragma once

#include <caf/io/scribe.hpp>

#include <troupe/actors/caf.hpp>
#include <troupe/actors/secure/tls_session.hpp>

namespace troupe {

/// Gives CAF a connection whose handshake is done. From any thread; the system is made of a secure_config. CAF's
/// network thread uses the session from then on and closes its socket.
[[nodiscard]] caf::io::scribe_ptr make_tls_scribe(caf::actor_system& system, tls_session session);

}  // namespace troupe
