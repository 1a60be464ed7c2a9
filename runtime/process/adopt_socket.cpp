#include "runtime/process/adopt_socket.hpp"

#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/os/errno_text.hpp"

namespace troupe {
namespace {

int option_of(int socket, int option) {
  int value = -1;
  socklen_t size = sizeof(value);
  return ::getsockopt(socket, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

}  // namespace

expected<unique_fd> adopt_socket(unique_fd socket, int type, pid_t maker, const char* where) {
  const auto refused = [&](std::string cause) {
    return fail(error_code::wire_handshake, where, std::move(cause), "let only the driver and its workers use it");
  };
  const int fd = socket.get();
  if (option_of(fd, SO_DOMAIN) != AF_UNIX || option_of(fd, SO_TYPE) != type) {
    return refused("descriptor " + std::to_string(fd) + " is no unix socket of the kind " +
                   (type == SOCK_SEQPACKET ? "SOCK_SEQPACKET" : "SOCK_STREAM"));
  }
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return refused("SO_PEERCRED: " + errno_text());
  if (peer.uid != ::geteuid() || peer.pid != maker) {
    return refused("made by process " + std::to_string(peer.pid) + " of user " + std::to_string(peer.uid) +
                   ", expected process " + std::to_string(maker) + " of user " + std::to_string(::geteuid()));
  }
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
    return fail(error_code::process_failed, where, "fcntl: " + errno_text());
  }
  return socket;
}

}  // namespace troupe
