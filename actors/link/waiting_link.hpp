#pragma once

#include <caf/io/network/event_handler.hpp>

#include "actors/link/link_sockets.hpp"
#include "actors/link/wire_message.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {

/// The first byte that a worker says over its link: the version of what follows. A change that the other version would
/// misread takes the next number.
inline constexpr char link_greeting = 2;

/// The driver's end of a link whose worker has not greeted yet: CAF would give up a worker that takes longer to start
/// than the time-out for silent ones. CAF's network thread runs it and deletes it at the first byte or at the end of
/// the connection. Without the right byte the socket is closed and nothing is published; the driver is told nothing
/// here, it hears of the worker's end by its process. There is no time limit here: worker_pool kills a worker that has
/// said no hello within limits::worker_hello_timeout.
class waiting_link final : public caf::io::network::event_handler {
 public:
  /// Takes the driver's end of make_link(). When the greeting has come `actor` is published to this worker alone; where
  /// no descriptor is left for that, the worker sees its link closed. `system` is made of a link_config, and ends the
  /// link with itself. From any thread, and returns at once.
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

/// CAF's broker, the one actor of the system that speaks CAF's protocol over connections. The first call makes it.
[[nodiscard]] caf::actor basp_of(caf::actor_system& system);

}  // namespace troupe
