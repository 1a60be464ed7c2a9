#include "actors/link/waiting_link.hpp"

#include <cerrno>
#include <utility>

#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <fcntl.h>
#include <sys/socket.h>

#include "actors/link/link_config.hpp"
#include "actors/link/link_scribe.hpp"

namespace troupe {
namespace {

using caf::io::network::operation;

caf::io::network::default_multiplexer& network_of(caf::actor_system& system) {
  return dynamic_cast<caf::io::network::default_multiplexer&>(system.middleman().backend());
}

}  // namespace

caf::actor basp_of(caf::actor_system& system) {
  return system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
}

void waiting_link::start(caf::actor_system& system, unique_fd socket, wire_actor actor) {
  auto* const made = new waiting_link(system, std::move(socket), std::move(actor));  // owned by the loop
  made->backend().dispatch([made] { made->activate(); });
}

waiting_link::waiting_link(caf::actor_system& system, unique_fd socket, wire_actor actor)
    : event_handler(network_of(system), socket.release()),
      system_(system),
      sockets_(link_config::of(system).sockets()),
      broker_(basp_of(system)),
      actor_(std::move(actor)) {
  sockets_.know(fd());
}

waiting_link::~waiting_link() {
  sockets_.forget(fd());
}

void waiting_link::handle_event(operation what) {
  char said = 0;
  const auto count = ::recv(fd(), &said, 1, 0);
  if (count < 0 && (errno == EAGAIN || errno == EINTR) && what == operation::read) return;
  if (count == 1 && said == link_greeting) hand_over();
  passivate();
}

/// As a descriptor of its own: the loop may not know one number twice, and forgets this one at the end of its turn.
/// Without one the worker sees its link closed, and ends.
void waiting_link::hand_over() {
  unique_fd copy(::fcntl(fd(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return;
  // CAF's name for what is published: said to this worker at once, and taken by the next one.
  static constexpr std::uint16_t name = 1;
  post(broker_, caf::publish_atom_v, make_link_scribe(system_, std::move(copy)), name,
       caf::actor_cast<caf::strong_actor_ptr>(actor_), system_.message_types(actor_));
}

}  // namespace troupe
