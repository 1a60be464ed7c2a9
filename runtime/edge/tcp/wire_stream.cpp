#include "runtime/edge/tcp/wire_stream.hpp"

#include <utility>

#include <asio/post.hpp>
#include <asio/ssl/context.hpp>
#include <sys/socket.h>

#include "runtime/edge/tcp/socket_io.hpp"
#include "runtime/edge/tcp/tls_stream.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {
namespace {

class plain final : public wire_stream {
 public:
  explicit plain(wire_socket socket) : socket_(std::move(socket)) {}

  void handshake(bool, on_done done) override {
    asio::post(socket_.get_executor(), [done = std::move(done)] { done({}); });
  }
  transfer read_some(std::span<std::byte> into) override { return receive_some(socket_, into); }
  transfer write_some(pieces from) override { return send_some(socket_, from); }
  transfer flush() override { return {}; }
  wire_socket& socket() noexcept override { return socket_; }

 private:
  wire_socket socket_;
};

asio::const_buffer pem(const std::string& text) {
  return asio::buffer(text.data(), text.size());
}

class openssl_context final : public tls_context {
 public:
  /// What could not be used; empty if all could.
  std::string load(const tls_credentials& given, client_certificate of_clients) {
    std::error_code failed;
    SSL_CTX* const native = context_.native_handle();
    if (!limit()) return "TLS 1.3";
    const auto if_none = of_clients == client_certificate::required ? asio::ssl::verify_fail_if_no_peer_cert : 0;
    context_.set_verify_mode(asio::ssl::verify_peer | if_none, failed);
    if (failed) return "verification: " + failed.message();
    const std::string chain =
        of_clients == client_certificate::required ? given.certificate : given.certificate + given.ca;
    context_.use_certificate_chain(pem(chain), failed);
    if (failed) return "certificate: " + failed.message();
    context_.use_private_key(pem(given.key), asio::ssl::context::pem, failed);
    if (failed) return "key: " + failed.message();
    if (SSL_CTX_check_private_key(native) != 1) return "key: it is not the certificate's";
    context_.add_certificate_authority(pem(given.ca), failed);
    return failed ? "authority: " + failed.message() : "";
  }
  bool load(std::function<bool(x509_store_ctx_st*)> verifies) {
    verifies_ = std::move(verifies);
    SSL_CTX_set_verify(context_.native_handle(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_cert_verify_callback(
        context_.native_handle(),
        [](X509_STORE_CTX* chain, void* self) { return static_cast<openssl_context*>(self)->verifies_(chain) ? 1 : 0; },
        this);
    return limit();
  }
  std::unique_ptr<wire_stream> stream(wire_socket socket) override {
    return std::make_unique<tls_stream>(std::move(socket), *context_.native_handle());
  }

 private:
  bool limit() {
    SSL_CTX* const native = context_.native_handle();
    // Every edge is connected once: nothing is ever resumed.
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(native, 0);
    return SSL_CTX_set_min_proto_version(native, TLS1_3_VERSION) == 1;
  }

  asio::ssl::context context_{asio::ssl::context::tlsv13};
  std::function<bool(x509_store_ctx_st*)> verifies_;
};

}  // namespace

expected<std::unique_ptr<tls_context>> tls_context::make(const tls_credentials& credentials,
                                                         client_certificate of_clients) {
  auto made = std::make_unique<openssl_context>();
  if (const std::string unusable = made->load(credentials, of_clients); !unusable.empty()) {
    return fail(error_code::config_bad_value, "TLS credentials", unusable,
                "Give a certificate, its key and the authority that signed it as PEM texts");
  }
  return made;
}

expected<std::unique_ptr<tls_context>> tls_context::make_nameless(std::function<bool(x509_store_ctx_st*)> verifies) {
  auto made = std::make_unique<openssl_context>();
  if (!made->load(std::move(verifies)))
    return fail(error_code::internal, "TLS", "OpenSSL has no TLS 1.3", "check the installation of OpenSSL 3");
  return made;
}

wire_socket new_tcp_socket(const asio::any_io_executor& executor, const asio::ip::tcp::endpoint& to) {
  wire_socket made(executor);
  unique_fd socket(::socket(to.data()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::error_code failed;
  if (socket) made.assign(to.protocol(), socket.get(), failed);
  if (socket && !failed) static_cast<void>(socket.release());
  return made;
}

std::unique_ptr<wire_stream> plain_stream(wire_socket socket) {
  return std::make_unique<plain>(std::move(socket));
}

}  // namespace troupe
