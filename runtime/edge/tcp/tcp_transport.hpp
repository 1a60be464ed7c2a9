#pragma once

#include <memory>
#include <optional>

#include "runtime/edge/payload_codec.hpp"
#include "runtime/edge/transport.hpp"

namespace troupe {

/// Edges over tcp connections on loopback (tcp_edge.hpp). The contact is the port. The offer is the secret of the run,
/// the same for all edges that one process offers. Nothing waits for the other side.
/// `payload_crc`: as tcp_endpoint_options. Errors: tcp_endpoint::open().
[[nodiscard]] expected<std::shared_ptr<transport>> open_tcp_transport(std::shared_ptr<const payload_codec> codec,
                                                                      std::optional<bool> payload_crc);

}  // namespace troupe
