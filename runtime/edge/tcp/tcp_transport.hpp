#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "runtime/edge/payload_codec.hpp"
#include "runtime/edge/tcp/node_network.hpp"
#include "runtime/edge/tcp/tcp_endpoint.hpp"
#include "runtime/edge/transport.hpp"

namespace troupe {

struct tcp_transport_options {
  std::shared_ptr<const payload_codec> codec;
  /// As tcp_endpoint_options.
  std::optional<bool> payload_crc = std::nullopt;
  /// Null: all processes are on this host, and edges are on loopback, without TLS.
  std::shared_ptr<const node_network> network = nullptr;
  /// The endpoint of this network and codec; null: one of its own is opened.
  std::shared_ptr<tcp_endpoint> endpoint = nullptr;
  /// tcp_endpoint_options::silence_timeout where there is neither, the same in all processes.
  std::optional<std::chrono::milliseconds> silence = std::nullopt;
};

/// Edges over tcp connections (tcp_endpoint.hpp). The contact is the port. The offer is the secret of the run, the same
/// for all edges that one process offers. Nothing waits for the other side. With a network the other end of an edge
/// must show the certificate of the node that its contact names. Errors: tcp_endpoint::open().
[[nodiscard]] expected<std::shared_ptr<transport>> open_tcp_transport(const tcp_transport_options& options);

}  // namespace troupe
