#include "tests/runtime/join/tls_peer.hpp"

#include <array>

#include <netinet/in.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include "messages/check.hpp"
#include "tests/runtime/join/join_test_support.hpp"

namespace troupe::testing {

unique_fd connected_to(std::uint16_t port) {
  unique_fd made(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  TROUPE_CHECK(::connect(made.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0, "a port that listens");
  return made;
}

tls_peer::tls_peer(std::uint16_t port, const std::optional<tls_credentials>& own) : socket_(connected_to(port)) {
  shake_hands(own, false);
}

tls_peer::tls_peer(unique_fd accepted, const tls_credentials& own) : socket_(std::move(accepted)) {
  shake_hands(own, true);
}

void tls_peer::shake_hands(const std::optional<tls_credentials>& own, bool as_server) {
  context_.reset(SSL_CTX_new(TLS_method()));
  SSL_CTX_set_min_proto_version(context_.get(), TLS1_3_VERSION);
  if (own) {
    SSL_CTX_use_certificate(context_.get(), certificate_of(own->certificate).get());
    SSL_CTX_use_PrivateKey(context_.get(), private_key_of(own->key).get());
    if (as_server) SSL_CTX_add1_chain_cert(context_.get(), certificate_of(own->ca).get());
  }
  tls_.reset(SSL_new(context_.get()));
  SSL_set_fd(tls_.get(), socket_.get());
  is_open_ = (as_server ? SSL_accept(tls_.get()) : SSL_connect(tls_.get())) == 1;
  ERR_clear_error();
}

bool tls_peer::say(std::string_view text) const {
  ERR_clear_error();
  return text.empty() || SSL_write(tls_.get(), text.data(), static_cast<int>(text.size())) > 0;
}

bool tls_peer::say(const frame& head, std::string_view payload) const {
  const auto bytes = encode_head(head);
  std::string text(reinterpret_cast<const char*>(bytes.view().data()), bytes.view().size());
  return say(text.append(payload));
}

std::string tls_peer::read(std::size_t bytes) const {
  std::string got(bytes, '\0');
  std::size_t at = 0;
  ERR_clear_error();
  while (at < bytes) {
    const int some = SSL_read(tls_.get(), got.data() + at, static_cast<int>(bytes - at));
    if (some <= 0) break;
    at += static_cast<std::size_t>(some);
  }
  got.resize(at);
  return got;
}

std::optional<tls_peer::heard> tls_peer::hear() const {
  std::string text = read(frame_prelude_bytes);
  if (text.size() < frame_prelude_bytes) return std::nullopt;
  const auto prelude = decode_prelude(std::as_bytes(std::span(text))).value();
  text += read(prelude.header_bytes);
  const auto head = decode_head(std::as_bytes(std::span(text)), prelude).value();
  return heard{head, read(prelude.payload_bytes)};
}

std::string tls_peer::drain() const {
  std::string all;
  for (;;) {
    const std::string some = read(1);
    if (some.empty()) return all;
    all += some;
  }
}

}  // namespace troupe::testing
