#include "runtime/edge/tcp/tcp_core.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <asio/post.hpp>
#include <fcntl.h>
#include <sys/socket.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "runtime/edge/tcp/edge_errors.hpp"
#include "runtime/edge/tcp/handshake_roles.hpp"
#include "runtime/edge/tcp/peer_admission.hpp"
#include "runtime/os/start_thread.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

/// How soon an acceptor that failed (no descriptors left), or finds no room for a peer, tries again, and a stop looks
/// whether all is out.
constexpr auto retry_after = 5ms;
/// The other side accepts an edge at about the time that this one connects.
constexpr auto dial_again_after = 10ms;
constexpr std::size_t accepted_per_turn = 64;

error loss(const edge_link& link, std::string cause) {
  return lost_edge(link.key, "unknown", {error_code::peer_lost, {}, std::move(cause), {}});
}

}  // namespace

tcp_core::tcp_core(tcp_endpoint_options options)
    : options_(std::move(options)),
      listener_(options_.listener),
      limits_{options_.handshake_timeout, options_.keep_alive, options_.silence_timeout,
              std::min(options_.payload_bytes_max, limits::frame_payload_bytes_max)},
      expected_(options_.expected_peers ? options_.expected_peers : std::make_shared<expected_addresses>()) {}

expected<void> tcp_core::permit(const asio::ip::address& address) const {
  if (address.is_loopback() || options_.tls) return {};
  return fail(error_code::config_bad_value, "address " + address.to_string(),
              "activations would leave this machine without encryption",
              "Give TLS credentials, or use a loopback address");
}

expected<tcp::endpoint> tcp_core::permitted(const std::string& host, std::uint16_t port) const {
  std::error_code failed;
  const auto address = asio::ip::make_address(host, failed);
  if (failed)
    return fail(error_code::config_bad_value, "address " + host, "not a numeric address", "Resolve names before");
  return permit(address).map([&] { return tcp::endpoint(address, port); });
}

expected<void> tcp_core::secure() {
  TROUPE_CHECK((!options_.links && !options_.joins) || (options_.tls && options_.node_of),
               "only certificates say who a peer is");
  if (!options_.tls) return {};
  const auto of_clients = options_.joins ? client_certificate::optional : client_certificate::required;
  return tls_context::make(*options_.tls, of_clients).map([this](std::unique_ptr<tls_context>&& made) {
    tls_ = std::move(made);
  });
}

expected<void> tcp_core::open() {
  if (options_.keep_alive <= 1ms || options_.silence_timeout <= 2 * options_.keep_alive) {
    return fail(error_code::config_bad_value, "tcp endpoint", "the silence time-out is not above two keep-alives",
                "Raise silence_timeout or lower keep_alive");
  }
  TROUPE_TRY(secure());
  TROUPE_TRY(listen());
  accept_next();
  thread_ = TROUPE_TRY(start_thread("tcp edges", [this] { io_.run(); }));
  return {};
}

expected<void> tcp_core::listen() {
  const bool is_inherited = static_cast<bool>(listener_);
  const auto at = TROUPE_TRY(is_inherited ? tcp::endpoint{} : permitted(options_.address, options_.port));
  std::error_code failed = is_inherited ? adopt() : bind(at);
  tcp::endpoint own;
  if (!failed) acceptor_.non_blocking(true, failed);
  if (!failed) own = acceptor_.local_endpoint(failed);
  if (failed) {
    const std::string where = "address " + options_.address + ":" + std::to_string(options_.port);
    return fail(error_code::process_failed, is_inherited ? "inherited socket" : where,
                "cannot listen: " + failed.message(), "Use an address of this machine and a port that is free");
  }
  port_ = own.port();
  return permit(own.address());
}

std::error_code tcp_core::bind(const tcp::endpoint& at) {
  // A socket of its own making: asio's close in no exec.
  unique_fd socket(::socket(at.data()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::error_code failed;
  if (!socket) failed.assign(errno, std::system_category());
  if (!failed) acceptor_.assign(at.protocol(), socket.get(), failed);
  if (!failed) static_cast<void>(socket.release());
  if (!failed) acceptor_.set_option(tcp::acceptor::reuse_address(true), failed);
  if (!failed) acceptor_.bind(at, failed);
  if (!failed) acceptor_.listen(asio::socket_base::max_listen_connections, failed);
  return failed;
}

/// Any other descriptor than a listening socket of TCP would be found out late, or never.
std::error_code tcp_core::adopt() {
  int domain = 0;
  int listens = 0;
  socklen_t size = sizeof(int);
  const int fd = listener_.get();
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 ||
      ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
    return {errno, std::system_category()};
  }
  if (listens == 0 || (domain != AF_INET && domain != AF_INET6)) return std::make_error_code(std::errc::not_supported);
  std::error_code failed;
  acceptor_.assign(domain == AF_INET ? tcp::v4() : tcp::v6(), fd, failed);
  if (!failed) static_cast<void>(listener_.release());
  return failed;
}

void tcp_core::accept_next() {
  acceptor_.async_wait(tcp::acceptor::wait_read, [this](std::error_code failed) {
    if (!acceptor_.is_open()) return;
    if (!failed && accept_some()) return accept_next();
    later_.expires_after(retry_after);
    later_.async_wait([this](std::error_code cancelled) {
      if (!cancelled && acceptor_.is_open()) accept_next();
    });
  });
}

/// False if the system has no descriptor left. A few at a time: what those before have said is read in between.
bool tcp_core::accept_some() {
  bool goes_on = true;
  for (std::size_t taken = 0; taken < accepted_per_turn; ++taken) {
    unique_fd socket(::accept4(acceptor_.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) {
      goes_on = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
      break;
    }
    std::error_code failed;
    tcp::socket peer(io_);
    peer.assign(acceptor_.local_endpoint(failed).protocol(), socket.get(), failed);
    if (failed) continue;
    static_cast<void>(socket.release());
    take_in(std::move(peer));
  }
  serve_waiting();
  return goes_on;
}

void tcp_core::take_in(tcp::socket peer) {
  std::error_code failed;
  const auto from = origin_of(peer.remote_endpoint(failed).address());
  if (failed) return;
  const auto closed = (expected_->has(from) ? of_expected_ : of_others_).waiting.add(std::move(peer), from);
  if (closed) refuse({error_code::wire_handshake, {}, "too many wait", {}}, closed->to_string());
}

void tcp_core::serve_waiting(entrance& at) {
  at.waiting.serve([&](const asio::ip::address& from) { return at.seats.make_room(from); },
                   [&](tcp::socket peer, const asio::ip::address& from) { welcome(std::move(peer), from, at.seats); });
}

void tcp_core::serve_waiting() {
  serve_waiting(of_expected_);
  serve_waiting(of_others_);
  if ((of_expected_.waiting.is_empty() && of_others_.waiting.is_empty()) || waits_for_room_) return;
  waits_for_room_ = true;
  room_.expires_after(retry_after);
  room_.async_wait([this](std::error_code cancelled) {
    waits_for_room_ = false;
    if (!cancelled && acceptor_.is_open()) serve_waiting();
  });
}

void tcp_core::welcome(tcp::socket socket, const asio::ip::address& from, untrusted_peers& seats) {
  const auto added = add(wire_socket(std::move(socket)), std::make_shared<untrusted_peer>(*this));
  seats.add(added, from);
  added->serve();
}

expected<void> tcp_core::find_name(connection& of) const {
  x509_st* const certificate = of.peer_certificate();
  if (!options_.node_of || certificate == nullptr) return {};
  return options_.node_of(certificate).map([&](std::string node) { of.know_peer(std::move(node)); });
}

std::shared_ptr<connection> tcp_core::add(wire_socket socket, std::shared_ptr<connection_role> role) {
  auto stream = tls_ ? tls_->stream(std::move(socket)) : plain_stream(std::move(socket));
  auto on_end = [this](connection& ended) { connections_.erase(ended.shared_from_this()); };
  auto added = std::make_shared<connection>(std::move(stream), limits_, traffic_, std::move(role), std::move(on_end));
  connections_.insert(added);
  return added;
}

expected<void> tcp_core::await_peer(const std::shared_ptr<receiver_link>& link) {
  const auto replaced = TROUPE_TRY(registry_.add(link));
  if (replaced) replaced->lose(loss(*replaced, "a newer epoch took its place"));
  asio::post(io_, [this, link] { limit_wait(link); });
  return {};
}

void tcp_core::limit_wait(const std::shared_ptr<receiver_link>& link) {
  auto timer = std::make_shared<asio::steady_timer>(io_, options_.attach_timeout);
  timer->async_wait([this, timer, waiting = std::weak_ptr(link)](std::error_code) {
    const auto still = waiting.lock();
    if (still && registry_.withdraw(*still)) still->lose(loss(*still, "no producer has connected"));
  });
}

expected<void> tcp_core::dial(const std::string& host, std::uint16_t port, const std::shared_ptr<sender_link>& link) {
  const auto to = permitted(host, port);
  if (!to) return tl::make_unexpected(to.error());
  auto answer = std::make_shared<std::promise<expected<void>>>();
  auto outcome = answer->get_future();
  asio::post(io_, [this, to = *to, link, answer = std::move(answer)]() mutable {
    auto tell = [answer = std::move(answer)](expected<void> got) { answer->set_value(std::move(got)); };
    add(new_tcp_socket(io_.get_executor(), to), std::make_shared<caller>(*this, link, std::move(tell)))->dial(to);
  });
  // The connection has its own deadline; this one is for an endpoint that stops meanwhile.
  while (outcome.wait_for(limits::park_max) == std::future_status::timeout) {
    if (has_stopped()) return tl::make_unexpected(loss(*link, "the endpoint has stopped"));
  }
  return outcome.get();
}

expected<void> tcp_core::dial_until_admitted(const std::string& host, std::uint16_t port,
                                             const std::shared_ptr<sender_link>& link) {
  const auto to = permitted(host, port);
  if (!to) return tl::make_unexpected(to.error());
  const auto give_up_at = std::chrono::steady_clock::now() + options_.attach_timeout;
  asio::post(io_, [this, to = *to, link, give_up_at] { try_to_reach(to, link, give_up_at); });
  return {};
}

void tcp_core::try_to_reach(const tcp::endpoint& to, const std::shared_ptr<sender_link>& link, time_point give_up_at) {
  if (link->abandoned.load(std::memory_order_acquire)) return;
  const auto on_outcome = [this, to, link, give_up_at](const expected<void>& got) {
    if (got || link->abandoned.load(std::memory_order_acquire)) return;
    if (std::chrono::steady_clock::now() >= give_up_at) return link->lose(loss(*link, got.error().cause));
    auto timer = std::make_shared<asio::steady_timer>(io_, dial_again_after);
    timer->async_wait([this, timer, to, link, give_up_at](std::error_code cancelled) {
      if (!cancelled) try_to_reach(to, link, give_up_at);
    });
  };
  add(new_tcp_socket(io_.get_executor(), to), std::make_shared<caller>(*this, link, on_outcome))->dial(to);
}

void tcp_core::wake(const std::shared_ptr<edge_link>& link) {
  if (link->scheduled.exchange(true, std::memory_order_acq_rel)) return;
  asio::post(io_, [this, link] {
    link->scheduled.exchange(false, std::memory_order_acq_rel);
    attend(*link);
  });
}

void tcp_core::write_here(const std::shared_ptr<edge_link>& link) {
  const auto connected = link->connected();
  if (connected == nullptr || !connected->pump_here()) wake(link);
}

void tcp_core::attend(edge_link& link) {
  const auto connected = link.connected();
  if (!link.abandoned.load(std::memory_order_acquire)) {
    if (connected) connected->pump();
  } else if (connected) {
    connected->drop();
  } else if (const auto* waiting = dynamic_cast<const receiver_link*>(&link)) {
    registry_.withdraw(*waiting);
  }
}

void tcp_core::refuse(const error& why, const std::string& peer) const {
  if (!options_.on_refused) return;
  const std::string code = why.code == error_code::wire_handshake ? "" : code_name(why.code) + ": ";
  options_.on_refused(refuse_peer("peer " + peer, code + why.cause).value());
}

template <class Ask>
auto tcp_core::ask(Ask what) -> decltype(what()) {
  const std::scoped_lock lock(stopping_);
  if (has_stopped()) return what();
  std::promise<decltype(what())> answer;
  asio::post(io_, [&] { answer.set_value(what()); });
  return answer.get_future().get();
}

bool tcp_core::is_settled() {
  return ask([this] {
    return traffic_.written == traffic_.handled &&
           std::ranges::none_of(connections_, [](const auto& each) { return each->is_writing(); });
  });
}

std::size_t tcp_core::connections() {
  return ask([this] { return connections_.size(); });
}

bool tcp_core::is_drained() const {
  return std::ranges::none_of(connections_, [](const auto& each) {
    return each->is_established() && (each->is_writing() || each->is_leaving());
  });
}

void tcp_core::wait_until_drained(const std::shared_ptr<std::promise<void>>& done) {
  if (is_drained()) return done->set_value();
  later_.expires_after(retry_after);
  later_.async_wait([this, done](std::error_code) { wait_until_drained(done); });
}

void tcp_core::stop(std::chrono::milliseconds at_most) noexcept {
  const std::scoped_lock lock(stopping_);
  if (has_stopped() || !thread_.joinable()) return;
  auto drained = std::make_shared<std::promise<void>>();
  asio::post(io_, [this, drained] {
    std::error_code ignored;
    acceptor_.close(ignored);
    wait_until_drained(drained);
  });
  (void)drained->get_future().wait_for(at_most);
  io_.stop();
  thread_.join();
  stopped_.store(true, std::memory_order_release);
  while (!connections_.empty()) {
    const auto next = *connections_.begin();
    next->drop();
  }
  for (const auto& each : {options_.links, options_.joins}) {
    if (each) each->stopped();
  }
}

}  // namespace troupe
