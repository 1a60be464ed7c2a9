#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/edge/tcp/peer_admission.hpp"
#include "runtime/join/job_authority.hpp"
#include "runtime/join/ticket_book.hpp"

namespace troupe {

struct join_service_options {
  std::shared_ptr<ticket_book> tickets;
  std::shared_ptr<const job_authority> authority;
  /// The version of the driver's program (is_version()); a node must have the same.
  std::string version;
  /// A node with a right ticket whose version differs (E0617): the only refusal that is told to the node. All others
  /// are told to tcp_endpoint_options::on_refused, with their causes. On the same thread; must not wait.
  std::function<void(const error&)> on_other_version = {};
};

/// The driver's side of joining, as tcp_endpoint_options::joins: a node that shows the secret of its ticket gets a
/// certificate of its name, for the key of its request; any other peer gets a closed connection. A node whose answer
/// was lost may ask again with the same request (ticket_book::redeem).
[[nodiscard]] std::shared_ptr<peer_admission> make_join_service(join_service_options options);

}  // namespace troupe
