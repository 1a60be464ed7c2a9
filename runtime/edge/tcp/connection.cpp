#include "runtime/edge/tcp/connection.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <netinet/tcp.h>
#include <sys/socket.h>

namespace troupe {
namespace {

using asio::ip::tcp;

/// A socket that listens on all addresses of IPv6 has peers of IPv4, too.
std::string address_of(const asio::ip::address& of) {
  const bool is_mapped = of.is_v6() && of.to_v6().is_v4_mapped();
  return is_mapped ? asio::ip::make_address_v4(asio::ip::v4_mapped, of.to_v6()).to_string() : of.to_string();
}

std::string name_of(const tcp::endpoint& peer) {
  return address_of(peer.address()) + ":" + std::to_string(peer.port());
}

std::optional<tcp::endpoint> tcp_endpoint_of(const wire_socket::endpoint_type& one) {
  tcp::endpoint named;
  if (one.protocol().family() == AF_UNIX || one.size() > named.capacity()) return std::nullopt;
  std::memcpy(named.data(), one.data(), one.size());
  return named;
}

std::string name_of(const wire_socket::endpoint_type& peer) {
  const auto named = tcp_endpoint_of(peer);
  return named ? name_of(*named) : "at the inherited socket";
}

std::string numeric(const wire_socket::endpoint_type& one, std::error_code failed) {
  const auto named = failed ? std::nullopt : tcp_endpoint_of(one);
  return named ? address_of(named->address()) : std::string{};
}

std::string in_ms(std::chrono::milliseconds time) {
  return std::to_string(time.count()) + " ms";
}

}  // namespace

connection::connection(std::unique_ptr<wire_stream> stream, const connection_limits& limits, frame_traffic& traffic,
                       std::shared_ptr<connection_role> role, std::function<void(connection&)> on_end)
    : stream_(std::move(stream)),
      limits_(limits),
      traffic_(traffic),
      role_(std::move(role)),
      on_end_(std::move(on_end)),
      timer_(stream_->socket().get_executor()) {}

std::string connection::peer_address() const {
  std::error_code failed;
  const auto peer = stream_->socket().remote_endpoint(failed);
  return numeric(peer, failed);
}

std::string connection::own_address() const {
  std::error_code failed;
  const auto own = stream_->socket().local_endpoint(failed);
  return numeric(own, failed);
}

/// By the kernel's account: a peer is not idle while this thread is late to read what it has said.
bool connection::is_idle(std::chrono::milliseconds at_least) const {
  std::error_code failed;
  if (stream_->socket().available(failed) > 0) return false;
  tcp_info known{};
  socklen_t size = sizeof known;
  if (::getsockopt(stream_->socket().native_handle(), IPPROTO_TCP, TCP_INFO, &known, &size) != 0) return true;
  return std::chrono::milliseconds(std::min(known.tcpi_last_data_recv, known.tcpi_last_data_sent)) >= at_least;
}

void connection::serve() {
  std::error_code failed;
  const auto peer = stream_->socket().remote_endpoint(failed);
  peer_ = failed ? "unknown" : name_of(peer);
  watch(limits_.handshake);
  begin(true);
}

void connection::dial(const tcp::endpoint& to) {
  peer_ = name_of(to);
  watch(limits_.handshake);
  stream_->socket().async_connect(wire_socket::endpoint_type(to), [self = shared_from_this()](std::error_code failed) {
    if (self->ended_) return;
    if (failed) return self->fail(error_code::peer_lost, "cannot connect: " + failed.message());
    self->begin(false);
  });
}

void connection::begin(bool as_server) {
  connected_ = true;
  std::error_code ignored;
  stream_->socket().set_option(tcp::no_delay(true), ignored);
  stream_->handshake(as_server, [self = shared_from_this()](std::error_code failed) {
    if (self->ended_) return;
    if (failed) return self->fail(error_code::wire_handshake, "TLS handshake: " + failed.message());
    self->secured_ = true;
    if (const auto fits = self->role_->on_handshake(*self); !fits) return self->fail(fits.error());
    self->read();
    self->pump();
  });
}

void connection::assume(std::shared_ptr<connection_role> role, const std::optional<connection_limits>& limits) {
  role_ = std::move(role);
  established_ = true;
  if (limits) limits_ = *limits;
  freezes_.emplace(limits_.keep_alive);
  decoder_.limit_payloads(limits_.payload_bytes_max);
  last_read_ = last_written_ = clock::now();
  freezes_->look(last_written_.time_since_epoch());
  watch(limits_.keep_alive / 2);
}

void connection::read() {
  const auto room = decoder_.room();
  stream_->read_some(room, [self = shared_from_this()](std::error_code failed, std::size_t bytes) {
    if (self->ended_) return;
    if (failed && self->finishing_) return self->drop();
    if (failed) return self->fail(error_code::peer_lost, "connection closed: " + failed.message());
    self->last_read_ = clock::now();
    self->decoder_.arrived(bytes);
    if (auto taken = self->take(); !taken) return self->fail(std::move(taken).error());
    if (self->ended_) return;
    self->pump();
    if (!self->ended_) self->read();
  });
}

expected<void> connection::take() {
  while (!ended_) {
    const auto step = decoder_.step();
    if (!step) return tl::make_unexpected(step.error());
    if (*step == decode_step::more) return {};
    expected<void> done;
    if (*step == decode_step::payload) {
      done = deliver(payload_->first(decoder_.payload_bytes()));
    } else if (decoder_.payload_bytes() > 0) {
      done = take_head();
    } else {
      done = deliver({});
    }
    if (!done) return done;
  }
  return {};
}

expected<void> connection::take_head() {
  payload_ = role_->place_for(decoder_.payload_bytes());
  if (payload_ == nullptr) {
    return ::troupe::fail(error_code::wire_too_large, "wire message",
                          "no memory for a payload of " + std::to_string(decoder_.payload_bytes()) + " bytes");
  }
  decoder_.payload_into(payload_->first(decoder_.payload_bytes()));
  return {};
}

expected<void> connection::deliver(std::span<const std::byte> payload) {
  const bool counts = kind_of(decoder_.head()) != frame_kind::ping;
  const auto role = role_;  // which may have itself replaced
  auto done = role->on_frame(*this, decoder_.head(), payload, std::exchange(payload_, nullptr));
  if (counts) ++traffic_.handled;
  return done;
}

void connection::pump() {
  if (ended_ || writing_ || !secured_ || finishing_) return;
  auto more = role_->next(out_);
  if (!more) return fail(std::move(more).error());
  if (*more) return write(out_, true);
  if (role_->finished()) finish();
}

void connection::write(const outgoing& out, bool counts) {
  writing_ = true;
  stream_->write(out.head.view(), out.payload,
                 [self = shared_from_this(), counts](std::error_code failed, std::size_t) {
                   self->writing_ = false;
                   if (!failed && counts) ++self->traffic_.written;  // also when the peer has read it and gone since
                   if (self->ended_) return;
                   if (failed) return self->fail(error_code::peer_lost, "cannot write: " + failed.message());
                   self->last_written_ = clock::now();
                   self->pump();
                 });
}

// The socket stays until the other side has closed its own: closing it with a late ping unread would make the kernel
// throw away what the other side has not read yet.
void connection::finish() {
  finishing_ = true;
  std::error_code ignored;
  stream_->socket().shutdown(wire_socket::shutdown_send, ignored);
}

void connection::drop() {
  if (std::exchange(ended_, true)) return;
  std::error_code ignored;
  timer_.cancel();
  stream_->socket().close(ignored);
  on_end_(*this);
}

void connection::make_room() {
  fail(error_code::wire_handshake, "said no hello before others came");
}

void connection::fail(error_code code, const std::string& cause) {
  fail(error{code, {}, cause, {}});
}

void connection::fail(const error& why) {
  if (ended_) return;
  const auto self = shared_from_this();
  drop();
  role_->lost(why, peer_);
}

void connection::watch(std::chrono::milliseconds after) {
  timer_.expires_after(after);
  timer_.async_wait([self = shared_from_this()](std::error_code cancelled) {
    if (!cancelled && !self->ended_) self->look_at_the_clock();
  });
}

void connection::look_at_the_clock() {
  if (!established_) {
    const auto code = connected_ ? error_code::wire_handshake : error_code::peer_lost;
    return fail(code, "no handshake within " + in_ms(limits_.handshake));
  }
  const auto now = clock::now();
  if (freezes_->lasted(last_read_.time_since_epoch(), now.time_since_epoch()) >= limits_.silence) {
    if (finishing_) return drop();
    return fail(error_code::peer_lost, "silent for " + in_ms(limits_.silence));
  }
  if (!writing_ && !finishing_ && now - last_written_ >= limits_.keep_alive) {
    out_ = {encode_head(ping_frame{}), {}};
    write(out_, false);
  }
  watch(limits_.keep_alive / 2);
}

}  // namespace troupe
