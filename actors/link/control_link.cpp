#include "actors/link/control_link.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/socket.h>

#include "actors/link/link_scribe.hpp"
#include "actors/link/waiting_link.hpp"

namespace troupe {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr const char* place = "control plane";

tl::unexpected<error> lost(std::string cause) {
  return fail(error_code::peer_lost, place, std::move(cause), "look whether the driver has ended or is stopped");
}

expected<wire_actor> to_wire_actor(caf::actor_system& system, const caf::strong_actor_ptr& found,
                                   const std::set<std::string>& interface) {
  const auto wanted = system.message_types(caf::detail::type_list<wire_actor>{});
  if (found && system.assignable(interface, wanted)) return caf::actor_cast<wire_actor>(found);
  return fail(error_code::wire_handshake, place, "the driver offers another kind of actor",
              "use the same program for the driver and its workers");
}

}  // namespace

expected<std::pair<unique_fd, unique_fd>> make_link() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return fail(error_code::process_failed, place, "socketpair: " + std::system_category().message(errno),
                "raise the limit of open files (ulimit -n)");
  }
  return std::pair(unique_fd(ends[0]), unique_fd(ends[1]));
}

void offer_link(caf::actor_system& system, unique_fd end, const wire_actor& actor) {
  waiting_link::start(system, std::move(end), actor);
}

expected<void> greet_driver(const unique_fd& end, clock::time_point deadline) {
  if (::send(end.get(), &link_greeting, 1, MSG_NOSIGNAL) != 1) return lost("its end of the link is closed");
  pollfd answer{end.get(), POLLIN, 0};
  while (answer.revents == 0) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - clock::now());
    if (left.count() <= 0) return lost("the driver does not answer");
    ::poll(&answer, 1, static_cast<int>(std::min(left, milliseconds(1min)).count()));
  }
  char next = 0;
  if (::recv(end.get(), &next, 1, MSG_PEEK) == 1) return {};
  return lost("the driver has closed the link");
}

expected<wire_actor> join_driver(caf::actor_system& system, unique_fd end, clock::time_point deadline) {
  // CAF's name for what is published, which only its messages show.
  static constexpr std::uint16_t name = 1;
  expected<wire_actor> joined;
  const auto left = std::max(deadline - clock::now(), clock::duration(0));
  caf::scoped_actor self{system};
  self->request(basp_of(system), left, caf::connect_atom_v, make_link_scribe(system, std::move(end)), name)
      .receive([&](const caf::node_id&, const caf::strong_actor_ptr& found,
                   const std::set<std::string>& interface) { joined = to_wire_actor(system, found, interface); },
               [&](const caf::error& why) { joined = lost("the driver does not answer: " + system.render(why)); });
  return joined;
}

}  // namespace troupe
