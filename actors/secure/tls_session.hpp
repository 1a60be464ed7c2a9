#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <troupe/actors/secure/tls_context.hpp>
#include <troupe/messages/error.hpp>
#include <troupe/runtime/os/unique_fd.hpp>

struct ssl_st;

namespace troupe {

enum class tls_role { client, server };

enum class tls_state {
  done,
  wants_read,   ///< nothing happened: try again when the socket can be read
  wants_write,  ///< or written
  closed,       ///< the peer has gone without a word
  failed,       ///< the peer was refused, or refuses us; take_tls_errors() says why
};

/// One TLS connection over a non-blocking socket. Nothing blocks, no signal is raised. One thread at a time.
class tls_session {
 public:
  /// `socket` is connected and non-blocking. E0614 without memory.
  [[nodiscard]] static expected<tls_session> make(const tls_context& context, unique_fd socket, tls_role role);

  /// Done when both ends have proven who they are, as far as this end knows: a client learns that it was accepted from
  /// the first byte it reads.
  [[nodiscard]] tls_state shake_hands();

  /// `count` is 0 unless done. One call, one record at the most.
  [[nodiscard]] tls_state read(void* bytes, std::size_t size, std::size_t& count);
  [[nodiscard]] tls_state write(const void* bytes, std::size_t size, std::size_t& count);
  /// Decrypted and not yet read: no poll() tells of it.
  [[nodiscard]] std::size_t pending() const;

  [[nodiscard]] int fd() const noexcept { return fd_; }
  /// The socket becomes the caller's, who closes it after this session is destroyed.
  [[nodiscard]] int release_socket() noexcept { return socket_.release(); }

 private:
  struct freed {
    void operator()(ssl_st* session) const noexcept;
  };
  using pointer = std::unique_ptr<ssl_st, freed>;

  tls_session(unique_fd socket, pointer session) noexcept;
  tls_state state_after(int result);

  unique_fd socket_;
  int fd_ = -1;  ///< the same, also after release_socket()
  pointer session_;
};

}  // namespace troupe
