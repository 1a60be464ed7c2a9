#include "runtime/edge/tcp/connection.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include <asio/error.hpp>
#include <asio/post.hpp>
#include <asio/ssl/error.hpp>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>

#include "messages/try.hpp"

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

/// Its own finding, or that of the other side, which has authenticated it; and not the end of the socket below.
bool is_word_of_tls(std::error_code why) {
  return why == said_rejected || why.category() == asio::error::get_ssl_category();
}

tl::unexpected<error> is_closed(std::error_code why) {
  return fail(error_code::peer_lost, {}, "connection closed: " + why.message());
}

/// A write may be the first to hear that the peer has ended.
tl::unexpected<error> cannot_write(std::error_code why) {
  if (why == std::errc::connection_reset || why == std::errc::broken_pipe) return is_closed(why);
  return fail(error_code::peer_lost, {}, "cannot write: " + why.message());
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

/// By the kernel's account: a peer is not idle while this thread is late to read, or while its answer is on the way.
bool connection::is_idle(std::chrono::milliseconds beyond_round_trip) const {
  std::error_code failed;
  if (stream_->socket().available(failed) > 0) return false;
  tcp_info known{};
  socklen_t size = sizeof known;
  if (::getsockopt(stream_->socket().native_handle(), IPPROTO_TCP, TCP_INFO, &known, &size) != 0) return true;
  const std::chrono::milliseconds idle(std::min(known.tcpi_last_data_recv, known.tcpi_last_data_sent));
  return idle >= beyond_round_trip + std::chrono::microseconds(known.tcpi_rtt);
}

/// What the system calls later: under the guard, unless the connection has ended.
template <class Act>
auto connection::handler(Act act) {
  return [self = shared_from_this(), act = std::move(act)](auto... outcome) {
    const std::scoped_lock lock(self->guard_);
    if (!self->ended_) std::invoke(act, *self, outcome...);
  };
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
  stream_->socket().async_connect(wire_socket::endpoint_type(to), handler(&connection::on_connected));
}

void connection::on_connected(std::error_code failed) {
  if (failed) {
    return end({error_code::peer_lost, {}, "cannot connect: " + failed.message(), {}},
               failed == asio::error::connection_refused);
  }
  begin(false);
}

void connection::begin(bool as_server) {
  connected_ = true;
  std::error_code ignored;
  stream_->socket().set_option(tcp::no_delay(true), ignored);
  stream_->handshake(as_server, handler(&connection::on_handshake));
}

void connection::on_handshake(std::error_code failed) {
  if (failed)
    return end({error_code::wire_handshake, {}, "TLS handshake: " + failed.message(), {}}, is_word_of_tls(failed));
  secured_ = true;
  if (const auto fits = role_->on_handshake(*this); !fits) return fail(fits.error());
  pump();
  if (!ended_) read();
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

/// A few chunks at a time: other connections have the same thread.
void connection::read() {
  for (std::size_t turn = 0; turn < limits::tcp_chunks_per_turn; ++turn) {
    const auto more = read_chunk();
    if (ended_) return;
    if (!more) return fail(more.error());
    pump();
    if (ended_) return;
    if (*more) continue;
    if (!expects_more()) return wait_to_read();
    sched_yield();
  }
  after_others(&connection::read);
}

/// False if nothing is there now.
expected<bool> connection::read_chunk() {
  const auto room = decoder_.room();
  const auto got = stream_->read_some(room.first(std::min(room.size(), limits::tcp_chunk_bytes)));
  if (got.failed && finishing_) {
    drop();
    return false;
  }
  if (got.failed) {
    rejected_ = is_word_of_tls(got.failed);
    return is_closed(got.failed);
  }
  if (got.bytes == 0) return false;
  last_read_ = clock::now();
  decoder_.arrived(got.bytes);
  TROUPE_TRY(take());
  if (payload_ != nullptr) role_->on_part(got.bytes);
  return true;
}

/// The rest of a payload is on its way.
bool connection::expects_more() const {
  const std::size_t missing = decoder_.missing();
  return missing > 0 && !wake_level::takes_several(missing) && clock::now() - last_read_ < limits::tcp_read_patience;
}

void connection::wait_to_read() {
  wake_level_.raise(stream_->socket(), decoder_.missing());
  stream_->wait_readable(handler(&connection::on_readable));
}

void connection::on_readable(std::error_code failed) {
  if (failed) return fail(error_code::peer_lost, "cannot wait: " + failed.message());
  read();
}

void connection::wait_to_write() {
  stream_->wait_writable(handler(&connection::on_writable));
}

void connection::on_writable(std::error_code failed) {
  if (failed) return fail(error_code::peer_lost, "cannot wait: " + failed.message());
  write();
}

template <class Act>
void connection::after_others(Act act) {
  asio::post(executor(), handler(std::move(act)));
}

expected<void> connection::take() {
  while (!ended_) {
    const auto step = TROUPE_TRY(decoder_.step());
    if (step == decode_step::more) return {};
    expected<void> done;
    if (step == decode_step::payload) {
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
  const std::scoped_lock lock(guard_);
  if (ended_ || writing_ || !secured_ || finishing_) return;
  if (begin_next()) write();
}

/// A write that is under way, or left to the I/O thread, goes on with what the role has by then.
bool connection::pump_here() {
  const std::unique_lock lock(guard_, std::try_to_lock);
  if (!lock.owns_lock() || ended_ || finishing_ || !established_) return false;
  for (std::size_t turn = 0; turn < limits::tcp_chunks_per_turn && !writing_; ++turn) {
    const auto more = role_->next(out_);
    if (!more) {
      writing_ = true;  // nothing follows
      after_others([why = more.error()](connection& self) { self.fail(why); });
      return true;
    }
    if (!*more) return !role_->finished();
    writing_ = out_counts_ = true;
    // An error comes again on the I/O thread.
    if (out_.bytes_left() <= limits::tcp_chunk_bytes) static_cast<void>(write_chunk());
    if (writing_) after_others(&connection::write);
  }
  return writing_;
}

/// False if there is nothing to say, or no more.
bool connection::begin_next() {
  const auto more = role_->next(out_);
  if (!more) {
    fail(more.error());
    return false;
  }
  writing_ = out_counts_ = *more;
  if (!*more && role_->finished()) finish();
  return *more;
}

/// What has begun, and what comes after it, as far as the socket takes it.
void connection::write() {
  for (std::size_t turn = 0; turn < limits::tcp_chunks_per_turn; ++turn) {
    const auto goes_on = write_chunk();
    if (!goes_on) return fail(goes_on.error());
    if (!*goes_on) return wait_to_write();
    if (!writing_ && !begin_next()) return;
  }
  after_others(&connection::write);
}

/// False if the socket takes nothing now.
expected<bool> connection::write_chunk() {
  if (!out_.is_done()) {
    const auto taken = stream_->write_some(out_.chunk());
    if (taken.failed) return cannot_write(taken.failed);
    if (taken.bytes == 0) return false;
    out_.sent(taken.bytes);
    if (!out_.is_done()) return true;
  }
  const auto left = stream_->flush();
  if (left.failed) return cannot_write(left.failed);
  if (left.bytes > 0) return false;
  writing_ = false;
  if (out_counts_) ++traffic_.written;
  last_written_ = clock::now();
  return true;
}

// The socket stays until the other side has closed its own: closing it with a late ping unread would make the kernel
// throw away what the other side has not read yet.
void connection::finish() {
  finishing_ = true;
  std::error_code ignored;
  stream_->socket().shutdown(wire_socket::shutdown_send, ignored);
}

void connection::drop() {
  const std::scoped_lock lock(guard_);
  if (std::exchange(ended_, true)) return;
  std::error_code ignored;
  timer_.cancel();
  stream_->socket().close(ignored);
  on_end_(*this);
}

void connection::turn_away() {
  const std::scoped_lock lock(guard_);
  if (!ended_ && secured_) stream_->say_rejected();
  drop();
}

void connection::make_room() {
  fail(error_code::wire_handshake, "said no hello before others came");
}

void connection::fail(error_code code, const std::string& cause) {
  end({code, {}, cause, {}}, false);
}

/// A peer that says what it must not is rejected; one whose connection broke is not.
void connection::fail(const error& why) {
  end(why, rejected_ || (!established_ && why.code != error_code::peer_lost));
}

void connection::end(const error& why, bool is_rejection) {
  if (ended_) return;
  const auto self = shared_from_this();
  is_rejection ? turn_away() : drop();
  if (is_rejection) role_->rejected();
  role_->lost(why, peer_);
}

void connection::watch(std::chrono::milliseconds after) {
  timer_.expires_after(after);
  timer_.async_wait(handler([](connection& self, std::error_code cancelled) {
    if (!cancelled) self.look_at_the_clock();
  }));
}

void connection::look_at_the_clock() {
  if (!established_) {
    const auto code = connected_ ? error_code::wire_handshake : error_code::peer_lost;
    return fail(code, "no handshake within " + in_ms(limits_.handshake));
  }
  wake_level_.lower(stream_->socket());
  const auto now = clock::now();
  if (freezes_->lasted(last_read_.time_since_epoch(), now.time_since_epoch()) >= limits_.silence) {
    if (finishing_) return drop();
    return fail(error_code::peer_lost, "silent for " + in_ms(limits_.silence));
  }
  if (!writing_ && !finishing_ && now - last_written_ >= limits_.keep_alive) {
    out_.begin(ping_frame{});
    writing_ = true;
    out_counts_ = false;
    write();
    if (ended_) return;
  }
  if (!finishing_) role_->on_beat();
  if (!ended_) watch(limits_.keep_alive / 2);
}

}  // namespace troupe
