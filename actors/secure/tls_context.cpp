#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <troupe/actors/secure/tls_context.hpp>

namespace troupe {
namespace {

tl::unexpected<error> unusable(const std::string& what, const std::string& file) {
  return fail(error_code::wire_handshake, file, "cannot use it as " + what + ": " + take_tls_errors(),
              "keep the run's credentials open until the actor system has published or connected");
}

/// The rules that no file can change.
bool set_rules(SSL_CTX* context) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // CAF's buffers are cleared and swapped between two attempts to write the same bytes.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 && SSL_CTX_set_num_tickets(context, 0) == 1;
}

}  // namespace

std::string take_tls_errors() {
  std::string text;
  while (const unsigned long number = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(number);
    if (!text.empty()) text += ", ";
    text += reason == nullptr ? "error " + std::to_string(number) : reason;
  }
  return text.empty() ? "no reason given" : text;
}

expected<tls_context> tls_context::make(const secure_identity& identity) {
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_method()), [](SSL_CTX* made) { SSL_CTX_free(made); });
  if (context == nullptr || !set_rules(context.get())) {
    return fail(error_code::wire_handshake, "control plane", "OpenSSL makes no TLS 1.3 context: " + take_tls_errors(),
                "install OpenSSL 3 with TLS 1.3");
  }
  if (SSL_CTX_load_verify_locations(context.get(), identity.ca_file.c_str(), nullptr) != 1) {
    return unusable("the run's authority", identity.ca_file);
  }
  if (SSL_CTX_use_certificate_chain_file(context.get(), identity.certificate_file.c_str()) != 1) {
    return unusable("this process's certificate", identity.certificate_file);
  }
  if (SSL_CTX_use_PrivateKey_file(context.get(), identity.key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return unusable("this process's key", identity.key_file);
  }
  return tls_context(std::move(context));
}

}  // namespace troupe
