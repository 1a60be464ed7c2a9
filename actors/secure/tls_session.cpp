#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <troupe/actors/secure/socket_bio.hpp>
#include <troupe/actors/secure/tls_session.hpp>

namespace troupe {

void tls_session::freed::operator()(ssl_st* session) const noexcept {
  SSL_free(session);
}

tls_session::tls_session(unique_fd socket, pointer session) noexcept
    : socket_(std::move(socket)), fd_(socket_.get()), session_(std::move(session)) {}

expected<tls_session> tls_session::make(const tls_context& context, unique_fd socket, tls_role role) {
  ERR_clear_error();
  pointer session(SSL_new(context.get()));
  BIO* bio = session == nullptr ? nullptr : new_socket_bio(socket.get());
  if (bio == nullptr) {
    return fail(error_code::process_failed, "control plane", "OpenSSL makes no session: " + take_tls_errors(),
                "give the process more memory");
  }
  SSL_set_bio(session.get(), bio, bio);
  if (role == tls_role::client) {
    SSL_set_connect_state(session.get());
  } else {
    SSL_set_accept_state(session.get());
  }
  return tls_session(std::move(socket), std::move(session));
}

tls_state tls_session::state_after(int result) {
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_NONE:
      return tls_state::done;
    case SSL_ERROR_WANT_READ:
      return tls_state::wants_read;
    case SSL_ERROR_WANT_WRITE:
      return tls_state::wants_write;
    case SSL_ERROR_SYSCALL:
    case SSL_ERROR_ZERO_RETURN:
      return tls_state::closed;
    default: {
      const bool is_end = ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
      return is_end ? tls_state::closed : tls_state::failed;
    }
  }
}

// OpenSSL judges a result by the thread's queue of errors: what an earlier session left there must not count.
tls_state tls_session::shake_hands() {
  ERR_clear_error();
  return state_after(SSL_do_handshake(session_.get()));
}

tls_state tls_session::read(void* bytes, std::size_t size, std::size_t& count) {
  ERR_clear_error();
  count = 0;
  return state_after(SSL_read_ex(session_.get(), bytes, size, &count));
}

tls_state tls_session::write(const void* bytes, std::size_t size, std::size_t& count) {
  ERR_clear_error();
  count = 0;
  return state_after(SSL_write_ex(session_.get(), bytes, size, &count));
}

std::size_t tls_session::pending() const {
  return static_cast<std::size_t>(SSL_pending(session_.get()));
}

}  // namespace troupe
