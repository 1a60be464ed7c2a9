#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/edge/tcp/peer_admission.hpp"
#include "runtime/link/message_link.hpp"

namespace troupe {

/// A link that a node has made. It must be started soon: until then the node waits, for limits::tcp_handshake_timeout.
struct node_link {
  /// By its certificate.
  std::string node;
  /// Numeric, as the connection comes from.
  std::string address;
  std::shared_ptr<message_link> link;
};

/// The driver's end of the links of other nodes, as tcp_endpoint_options::links. `on_link` is called on the endpoint's
/// I/O thread, as are the events of the links; it must not wait. An end of a link that says nothing for times.timeout
/// is lost, at both ends. A node with a link that makes another one has lost the first, which is told before: it may
/// know of a broken connection earlier than this side.
/// The links end with the endpoint; nothing is told then.
[[nodiscard]] std::shared_ptr<peer_admission> make_link_acceptor(const liveness& times,
                                                                 std::function<void(node_link)> on_link);

}  // namespace troupe
