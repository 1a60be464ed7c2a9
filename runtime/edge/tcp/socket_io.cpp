#include "runtime/edge/tcp/socket_io.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <asio/error.hpp>
#include <sys/socket.h>
#include <sys/uio.h>

#include "messages/limits.hpp"

namespace troupe {
namespace {

/// What a system call that returned `done` has moved. One that would have had to wait has moved nothing.
transfer outcome(ssize_t done) {
  if (done >= 0) return {static_cast<std::size_t>(done), {}};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {};
  return {0, {errno, std::system_category()}};
}

}  // namespace

transfer receive_some(wire_socket& from, std::span<std::byte> into) {
  const ssize_t done = ::recv(from.native_handle(), into.data(), into.size(), MSG_DONTWAIT);
  if (done == 0 && !into.empty()) return {0, asio::error::eof};
  return outcome(done);
}

transfer send_some(wire_socket& to, wire_stream::pieces from) {
  std::array<iovec, limits::tcp_chunk_pieces_max> places;
  const std::size_t count = std::min(from.size(), places.size());
  for (std::size_t i = 0; i < count; ++i)
    places[i] = {const_cast<std::byte*>(from[i].data()), from[i].size()};  // NOLINT: sendmsg only reads
  msghdr message{};
  message.msg_iov = places.data();
  message.msg_iovlen = count;
  return outcome(::sendmsg(to.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

void wake_level::raise(wire_socket& of, std::size_t missing) {
  set(of, takes_several(missing) ? static_cast<int>(limits::tcp_wake_bytes) : 1);
}

void wake_level::set(wire_socket& of, int bytes) {
  if (bytes == bytes_) return;
  std::error_code failed;
  const int family = of.local_endpoint(failed).protocol().family();
  if (failed || (family != AF_INET && family != AF_INET6)) return;
  if (::setsockopt(of.native_handle(), SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof(bytes)) == 0) bytes_ = bytes;
}

}  // namespace troupe
