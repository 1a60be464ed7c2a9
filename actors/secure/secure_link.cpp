#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>

#include <troupe/actors/secure/door_module.hpp>
#include <troupe/actors/secure/link_attempt.hpp>
#include <troupe/actors/secure/secure_link.hpp>
#include <troupe/actors/secure/tls_scribe.hpp>

namespace troupe {
namespace {

using time_point = std::chrono::steady_clock::time_point;
using signatures = std::set<std::string>;

/// The actor that speaks CAF's protocol over connections it is given.
caf::actor basp_of(caf::actor_system& system) {
  return system.middleman().named_broker<caf::io::basp_broker>(caf::atom("BASP"));
}

attempted<wire_actor> to_wire_actor(caf::actor_system& system, std::uint16_t port, const caf::strong_actor_ptr& found,
                                    const signatures& interface) {
  const auto wanted = system.message_types(caf::detail::type_list<wire_actor>{});
  if (found && system.assignable(interface, wanted)) return caf::actor_cast<wire_actor>(found);
  return failed_link(error_code::wire_handshake, port,
                     found ? "the actor there takes other messages" : "no actor is published there",
                     "use the same program for the driver and its workers", false);
}

/// CAF's own handshake, over a connection whose ends know each other.
attempted<wire_actor> join(caf::actor_system& system, tls_session session, std::uint16_t port, time_point deadline) {
  attempted<wire_actor> joined;
  const auto left = std::max(deadline - std::chrono::steady_clock::now(), time_point::duration(0));
  caf::scoped_actor self{system};
  self->request(basp_of(system), left, caf::connect_atom_v, make_tls_scribe(system, std::move(session)), port)
      .receive([&](const caf::node_id&, const caf::strong_actor_ptr& found,
                   const signatures& interface) { joined = to_wire_actor(system, port, found, interface); },
               // CAF gives up at the next heartbeat if the peer has not answered by then.
               [&](const caf::error& why) {
                 joined =
                     failed_link(error_code::peer_lost, port, "the other end does not answer: " + system.render(why),
                                 "look whether the driver has ended or is stopped", true);
               });
  return joined;
}

attempted<wire_actor> try_once(caf::actor_system& system, const tls_context& context, std::uint16_t port,
                               time_point deadline) {
  auto session = shake_hands_on_loopback(context, port, deadline);
  if (!session) return tl::make_unexpected(std::move(session.error()));
  return join(system, std::move(*session), port, deadline);
}

}  // namespace

expected<std::uint16_t> publish_on_loopback(caf::actor_system& system, const wire_actor& actor) {
  auto context = tls_context::make(secure_config::of(system).identity());
  if (!context) return tl::make_unexpected(std::move(context.error()));
  // The port is known when the door is open, and the first member may come before open() has returned: CAF's name for
  // what is published need not be the port.
  static constexpr std::uint16_t name = 1;
  auto door = secure_door::open(std::move(*context), [&system, actor](tls_session session) {
    post(basp_of(system), caf::publish_atom_v, make_tls_scribe(system, std::move(session)), name,
         caf::actor_cast<caf::strong_actor_ptr>(actor), system.message_types(actor));
  });
  if (!door) return tl::make_unexpected(std::move(door.error()));
  const std::uint16_t port = (*door)->port();
  door_module::of(system).keep(std::move(*door));
  return port;
}

expected<wire_actor> connect_on_loopback(caf::actor_system& system, std::uint16_t port, time_point deadline) {
  auto context = tls_context::make(secure_config::of(system).identity());
  if (!context) return tl::make_unexpected(std::move(context.error()));
  while (true) {
    auto joined = try_once(system, *context, port, deadline);
    if (joined) return std::move(*joined);
    const bool again =
        joined.error().may_pass && std::chrono::steady_clock::now() + limits::link_retry_pause < deadline;
    if (!again) return tl::make_unexpected(std::move(joined.error().cause));
    std::this_thread::sleep_for(limits::link_retry_pause);
  }
}

}  // namespace troupe
