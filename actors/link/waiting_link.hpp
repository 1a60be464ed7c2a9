#pragma once

#include <caf/io/network/event_handler.hpp>

#include "actors/link/link_sockets.hpp"
#include "actors/link/wire_message.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {

/// The first byte that a worker says over its link, and the version of what follows.
inline constexpr char link_greeting = 2;

/// The driver's end of a link whose worker has not greeted yet: CAF would give up a worker that takes longer to start
/// than the time-out for silent ones. Lives in CAF's network loop until the greeting, or the end of the connection.
class waiting_link final : public caf::io::network::event_handler {
 public:
  /// When the greeting has come `actor` is published to this worker alone. From any thread.
  static void start(caf::actor_system& system, unique_fd socket, wire_actor actor);

  void handle_event(caf::io::network::operation) override;
  void removed_from_loop(caf::io::network::operation) override { delete this; }
  void graceful_shutdown() override {}

 private:
  waiting_link(caf::actor_system& system, unique_fd socket, wire_actor actor);
  ~waiting_link() override;
  void hand_over();

  caf::actor_system& system_;
  link_sockets& sockets_;
  const caf::actor broker_;
  wire_actor actor_;
};

/// The actor that speaks CAF's protocol over connections that it is given.
[[nodiscard]] caf::actor basp_of(caf::actor_system& system);

}  // namespace troupe
