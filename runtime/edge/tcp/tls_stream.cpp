#include "runtime/edge/tcp/tls_stream.hpp"

#include <algorithm>
#include <utility>

#include <asio/error.hpp>
#include <asio/post.hpp>
#include <asio/ssl/error.hpp>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "messages/check.hpp"
#include "messages/limits.hpp"

namespace troupe {
namespace {

constexpr std::size_t record_bytes = SSL3_RT_MAX_PLAIN_LENGTH;

}  // namespace

void tls_stream::free_ssl::operator()(ssl_st* ssl) const {
  SSL_free(ssl);
}

tls_stream::tls_stream(wire_socket socket, ssl_ctx_st& context) : socket_(std::move(socket)), ssl_(SSL_new(&context)) {
  TROUPE_CHECK(ssl_ != nullptr, "OpenSSL fails for want of memory alone");
  records_.serve(*ssl_);
}

x509_st* tls_stream::peer_certificate() noexcept {
  return SSL_get0_peer_certificate(ssl_.get());
}

std::error_code tls_stream::failure(int returned) const {
  const int why = SSL_get_error(ssl_.get(), returned);
  if (why == SSL_ERROR_WANT_READ) return {};
  if (why == SSL_ERROR_ZERO_RETURN) return std::make_error_code(said_rejected);
  const unsigned long reason = ERR_get_error();
  if (reason == 0) return asio::ssl::error::unspecified_system_error;
  return {static_cast<int>(reason), asio::error::get_ssl_category()};
}

void tls_stream::say_rejected() {
  ERR_clear_error();
  static_cast<void>(SSL_shutdown(ssl_.get()));
  ERR_clear_error();
  static_cast<void>(flush());
}

void tls_stream::handshake(bool as_server, on_done done) {
  as_server ? SSL_set_accept_state(ssl_.get()) : SSL_set_connect_state(ssl_.get());
  asio::post(socket_.get_executor(), [this, done = std::move(done)]() mutable { shake_hands(std::move(done)); });
}

/// What OpenSSL has to say, an alert too, leaves before anything else is done.
void tls_stream::shake_hands(on_done done) {
  ERR_clear_error();
  const int returned = SSL_do_handshake(ssl_.get());
  const auto failed = returned == 1 ? std::error_code() : failure(returned);
  if (failed) {
    static_cast<void>(flush());
    return done(failed);
  }
  send_and_go_on(std::move(done));
}

void tls_stream::send_and_go_on(on_done done) {
  const auto left = flush();
  if (left.failed) return done(left.failed);
  if (left.bytes > 0) {
    return wait_writable([this, done = std::move(done)](std::error_code failed) mutable {
      return failed ? done(failed) : send_and_go_on(std::move(done));
    });
  }
  if (SSL_is_init_finished(ssl_.get()) == 1) return done({});
  wait_readable([this, done = std::move(done)](std::error_code failed) mutable {
    if (!failed) failed = records_.fill(socket_).failed;
    return failed ? done(failed) : shake_hands(std::move(done));
  });
}

transfer tls_stream::read_some(std::span<std::byte> into) {
  transfer all;
  while (all.bytes < into.size()) {
    transfer one = read_record(into.subspan(all.bytes));
    if (one.bytes == 0 && !one.failed) {
      const transfer filled = records_.fill(socket_);
      one.failed = filled.failed;
      if (filled.bytes > 0) continue;
    }
    all.bytes += one.bytes;
    // An error comes again when it is all that is left.
    if (one.failed && all.bytes == 0) all.failed = one.failed;
    if (one.bytes == 0) break;
  }
  return all;
}

transfer tls_stream::read_record(std::span<std::byte> into) {
  ERR_clear_error();
  transfer got;
  const int returned = SSL_read_ex(ssl_.get(), into.data(), into.size(), &got.bytes);
  if (returned != 1) got = {0, failure(returned)};
  return got;
}

transfer tls_stream::write_some(pieces from) {
  const auto before = flush();
  if (before.failed || before.bytes > 0) return {0, before.failed};
  transfer taken;
  for (const auto& piece : from) {
    const auto part = piece.first(std::min(piece.size(), limits::tls_chunk_bytes - taken.bytes));
    taken.bytes += part.size();
    if (taken.failed = add(part); taken.failed) return taken;
  }
  taken.failed = end_record();
  if (!taken.failed) taken.failed = flush().failed;
  return taken;
}

/// Full records of one piece are encrypted from where they lie.
std::error_code tls_stream::add(std::span<const std::byte> bytes) {
  std::error_code failed;
  while (!bytes.empty() && !failed) {
    const auto part = bytes.first(std::min(bytes.size(), record_bytes - joined_.size()));
    bytes = bytes.subspan(part.size());
    if (part.size() == record_bytes) {
      failed = encrypt(part);
    } else {
      joined_.insert(joined_.end(), part.begin(), part.end());
      if (joined_.size() == record_bytes) failed = end_record();
    }
  }
  return failed;
}

std::error_code tls_stream::end_record() {
  if (joined_.empty()) return {};
  const auto failed = encrypt(joined_);
  OPENSSL_cleanse(joined_.data(), joined_.size());
  joined_.clear();
  return failed;
}

std::error_code tls_stream::encrypt(std::span<const std::byte> record) {
  ERR_clear_error();
  std::size_t done = 0;
  const int returned = SSL_write_ex(ssl_.get(), record.data(), record.size(), &done);
  return returned == 1 ? std::error_code() : failure(returned);
}

}  // namespace troupe
