#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <troupe/actors/secure/link_attempt.hpp>
#include <troupe/actors/secure/secure_door.hpp>

namespace troupe {
namespace {

using time_point = std::chrono::steady_clock::time_point;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

std::string reason(int number) {
  return std::system_category().message(number);
}

/// False at the deadline, and if it has passed before.
bool await(int fd, short events, time_point deadline) {
  pollfd polled{fd, events, 0};
  while (true) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (::poll(&polled, 1, static_cast<int>(std::min(left, milliseconds(1min)).count())) > 0) return true;
  }
}

attempted<unique_fd> connect_socket(std::uint16_t port, time_point deadline) {
  unique_fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto no_system = [&](const std::string& what) {
    return failed_link(error_code::process_failed, port, what + ": " + reason(errno),
                       "check the limit of open files (ulimit -n)", false);
  };
  if (!socket) return no_system("cannot make a socket");
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return socket;
  int failure = errno;
  if (failure == EINPROGRESS) {
    if (!await(socket.get(), POLLOUT, deadline)) {
      return failed_link(error_code::peer_lost, port, "nobody accepted the connection in time",
                         "look whether the driver is alive and not stopped", false);
    }
    socklen_t size = sizeof(failure);
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failure, &size);
    if (failure == 0) return socket;
  }
  return failed_link(error_code::peer_lost, port, "cannot connect: " + reason(failure),
                     "look whether the driver has ended", false);
}

attempted<void> await_state(const tls_session& session, tls_state state, std::uint16_t port, time_point deadline) {
  switch (state) {
    case tls_state::done:
      return {};
    case tls_state::failed:
      return failed_link(error_code::wire_handshake, port, "refused: " + take_tls_errors(),
                         "end what is left of earlier runs and start again", false);
    case tls_state::closed:
      return failed_link(error_code::peer_lost, port, "the other end closed the connection during the handshake",
                         "look whether the driver has ended", true);
    default:
      break;
  }
  if (await(session.fd(), state == tls_state::wants_read ? POLLIN : POLLOUT, deadline)) return {};
  return failed_link(error_code::wire_handshake, port, "the other end did not finish the handshake in time",
                     "look whether the driver is stopped or another program has the port", false);
}

/// Runs one step of TLS until it is done.
template <class Step>
attempted<void> finish(const tls_session& session, std::uint16_t port, time_point deadline, Step step) {
  while (true) {
    const tls_state state = step();
    auto waited = await_state(session, state, port, deadline);
    if (!waited || state == tls_state::done) return waited;
  }
}

}  // namespace

tl::unexpected<failed_attempt> failed_link(error_code code, std::uint16_t port, std::string cause, std::string fix,
                                           bool may_pass) {
  return tl::make_unexpected(failed_attempt{
      error{code, "control plane, 127.0.0.1:" + std::to_string(port), std::move(cause), std::move(fix)}, may_pass});
}

attempted<tls_session> shake_hands_on_loopback(const tls_context& context, std::uint16_t port, time_point deadline) {
  auto socket = connect_socket(port, deadline);
  if (!socket) return tl::make_unexpected(std::move(socket.error()));
  auto session = tls_session::make(context, std::move(*socket), tls_role::client);
  if (!session) return tl::make_unexpected(failed_attempt{std::move(session.error())});
  auto finished = finish(*session, port, deadline, [&] { return session->shake_hands(); });
  char welcome = 0;
  std::size_t count = 0;
  if (finished) finished = finish(*session, port, deadline, [&] { return session->read(&welcome, 1, count); });
  if (!finished) return tl::make_unexpected(std::move(finished.error()));
  if (welcome != link_welcome) {
    return failed_link(error_code::wire_wrong_version, port, "the driver speaks another version of the control plane",
                       "use the same program for the driver and its workers", false);
  }
  return std::move(*session);
}

}  // namespace troupe
