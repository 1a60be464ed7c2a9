// Plain stream sockets with blocking reads and writes, buffers as the system makes them; TCP without Nagle's delay.
#include <array>
#include <cerrno>
#include <system_error>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "lanes.hpp"

namespace troupe::bench {
namespace {

[[noreturn]] void socket_failed(const char* what) {
  throw transport_failure(std::string(what) + ": " + std::system_category().message(errno));
}

class socket_lane final : public lane_end {
 public:
  socket_lane(unique_fd socket, const patience& wait) : socket_(std::move(socket)) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait.limit);
    const timeval limit{seconds.count(), 0};
    for (const int which : {SO_RCVTIMEO, SO_SNDTIMEO})
      ::setsockopt(socket_.get(), SOL_SOCKET, which, &limit, sizeof(limit));
  }

  void begin(const traffic& coming) override {
    bytes_ = coming.bytes;
    if (received_.size() < bytes_) received_.resize(bytes_);
  }

  void send() override {
    for (auto rest = source().first(bytes_); !rest.empty();) {
      const ssize_t done = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (done <= 0 && errno != EINTR) socket_failed("send");
      if (done > 0) rest = rest.subspan(static_cast<std::size_t>(done));
    }
  }

  std::uint64_t receive() override {
    const auto message = std::span(received_).first(bytes_);
    for (auto rest = message; !rest.empty();) {
      const ssize_t done = ::recv(socket_.get(), rest.data(), rest.size(), 0);
      if (done == 0) throw transport_failure("the peer has closed its socket");
      if (done < 0 && errno != EINTR) socket_failed("recv");
      if (done > 0) rest = rest.subspan(static_cast<std::size_t>(done));
    }
    return touched(message);
  }

 private:
  const unique_fd socket_;
  std::vector<std::byte> received_;
  std::size_t bytes_ = 0;
};

struct socket_pair {
  unique_fd driver;
  unique_fd peer;
};

socket_pair unix_pair() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) socket_failed("socketpair");
  return {unique_fd(fds[0]), unique_fd(fds[1])};
}

socket_pair tcp_pair() {
  const unique_fd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(at);
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  if (::bind(listening.get(), address, size) != 0 || ::listen(listening.get(), 1) != 0) socket_failed("listen");
  if (::getsockname(listening.get(), address, &size) != 0) socket_failed("getsockname");
  socket_pair made{unique_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), {}};
  if (::connect(made.driver.get(), address, size) != 0) socket_failed("connect");
  made.peer.reset(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!made.peer) socket_failed("accept");
  const int on = 1;
  for (const unique_fd* one : {&made.driver, &made.peer})
    ::setsockopt(one->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return made;
}

class socket_lane_kind final : public lane_kind {
 public:
  socket_lane_kind(std::string name, socket_pair (*make)()) : lane_kind(std::move(name)), make_(make) {}

  std::unique_ptr<lane_end> open(lane_side& driver) const override {
    socket_pair pair = make_();
    driver.other.say("join " + name(), {pair.peer.get()});
    driver.other.hear_word("joined", join_limit);
    return std::make_unique<socket_lane>(std::move(pair.driver), driver.wait);
  }
  std::unique_ptr<lane_end> join(lane_side& peer, fd_message heard) const override {
    if (heard.fds.size() != 1) throw transport_failure("a socket comes with one descriptor");
    peer.other.say("joined");
    return std::make_unique<socket_lane>(std::move(heard.fds[0]), peer.wait);
  }

 private:
  socket_pair (*const make_)();
};

}  // namespace

std::unique_ptr<lane_kind> unix_socket_kind() {
  return std::make_unique<socket_lane_kind>("unix-socket", unix_pair);
}

std::unique_ptr<lane_kind> tcp_socket_kind() {
  return std::make_unique<socket_lane_kind>("tcp-socket", tcp_pair);
}

}  // namespace troupe::bench
