#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <troupe/actors/secure/secure_door.hpp>
#include <troupe/messages/limits.hpp>

namespace troupe {
namespace {

using std::chrono::ceil;
using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

tl::unexpected<error> not_open(const std::string& what) {
  return fail(error_code::process_failed, "control plane, 127.0.0.1",
              what + ": " + std::system_category().message(errno),
              "check the limits of open files and threads (ulimit -a)");
}

short events_of(tls_state state) {
  return state == tls_state::wants_write ? POLLOUT : POLLIN;
}

/// Handlers of the program around it run in its own threads; faults are this one's.
void block_signals() {
  sigset_t set;
  ::sigfillset(&set);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) ::sigdelset(&set, fault);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

}  // namespace

expected<std::unique_ptr<secure_door>> secure_door::open(tls_context context, member_handler on_member) {
  unique_fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!listener) return not_open("cannot make a socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), generic, size) != 0 || ::listen(listener.get(), SOMAXCONN) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0) {
    return not_open("cannot listen");
  }
  unique_fd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) return not_open("cannot make an eventfd");
  std::unique_ptr<secure_door> door(new secure_door(std::move(context), std::move(on_member), std::move(listener),
                                                    std::move(bell), ntohs(address.sin_port)));
  try {
    door->thread_ = std::jthread([raw = door.get()] { raw->run(); });
  } catch (const std::system_error& failure) {
    errno = failure.code().value();
    return not_open("cannot start a thread");
  }
  return door;
}

secure_door::secure_door(tls_context context, member_handler on_member, unique_fd listener, unique_fd bell,
                         std::uint16_t port)
    : context_(std::move(context)),
      on_member_(std::move(on_member)),
      listener_(std::move(listener)),
      bell_(std::move(bell)),
      port_(port) {}

secure_door::~secure_door() {
  ::eventfd_write(bell_.get(), 1);
}

void secure_door::run() {
  block_signals();
  while (!stopping_) wait();
}

/// One turn: whoever has said something goes on, then new ones come in, then those who are late go.
void secure_door::wait() {
  const auto before = clock::now();
  std::vector<pollfd> polled = {{bell_.get(), POLLIN, 0}, {may_accept(before) ? listener_.get() : -1, POLLIN, 0}};
  for (const stranger& one : strangers_) polled.push_back({one.session.fd(), events_of(one.state), 0});
  const auto patience = static_cast<int>(time_to_wait(before).count());
  if (::poll(polled.data(), polled.size(), patience) < 0) return;
  stopping_ = polled[0].revents != 0;
  auto one = strangers_.begin();
  for (std::size_t i = 2; i < polled.size() && !stopping_; ++i) {
    const auto current = one++;  // advance() may erase it
    if (polled[i].revents != 0) advance(current);
  }
  const auto now = clock::now();
  if (polled[1].revents != 0 && !stopping_) accept_all(now);
  end_late(now);
}

bool secure_door::may_accept(time_point now) const {
  if (pause_until_ && now < *pause_until_) return false;
  return strangers_.size() < limits::control_strangers_max ||
         strangers_.front().came + limits::control_stranger_patience <= now;
}

/// Until the oldest may be pushed out or is late, or there may be descriptors again; -1 for ever.
milliseconds secure_door::time_to_wait(time_point now) const {
  std::optional<time_point> next;
  const auto consider = [&](time_point when) { next = std::min(when, next.value_or(when)); };
  if (pause_until_ && *pause_until_ > now) consider(*pause_until_);
  if (!strangers_.empty()) {
    consider(strangers_.front().came + limits::control_handshake_timeout);
    if (strangers_.size() >= limits::control_strangers_max && !may_accept(now)) {
      consider(strangers_.front().came + limits::control_stranger_patience);
    }
  }
  return next ? std::max(ceil<milliseconds>(*next - now), milliseconds(0)) : milliseconds(-1);
}

void secure_door::accept_all(time_point now) {
  while (may_accept(now)) {
    unique_fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      // Without a descriptor the connection stays in the queue, and poll() would tell of it at once.
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        pause_until_ = now + limits::control_accept_pause;
      }
      if (errno != ECONNABORTED && errno != EINTR) return;
      continue;
    }
    if (strangers_.size() >= limits::control_strangers_max) strangers_.pop_front();
    admit(std::move(socket), now);
  }
}

void secure_door::admit(unique_fd socket, time_point now) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  auto session = tls_session::make(context_, std::move(socket), tls_role::server);
  if (session) strangers_.push_back({std::move(*session), now});
}

void secure_door::advance(strangers::iterator one) {
  if (!one->shook_hands) {
    one->state = one->session.shake_hands();
    one->shook_hands = one->state == tls_state::done;
  }
  if (one->shook_hands) {
    std::size_t written = 0;
    one->state = one->session.write(&link_welcome, 1, written);
  }
  if (one->state == tls_state::wants_read || one->state == tls_state::wants_write) return;
  if (one->state == tls_state::done) on_member_(std::move(one->session));
  strangers_.erase(one);
}

void secure_door::end_late(time_point now) {
  while (!strangers_.empty() && strangers_.front().came + limits::control_handshake_timeout <= now) {
    strangers_.pop_front();
  }
}

}  // namespace troupe
