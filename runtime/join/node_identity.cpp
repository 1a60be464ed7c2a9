#include "runtime/join/node_identity.hpp"

#include <utility>

#include <openssl/err.h>

#include "messages/try.hpp"
#include "runtime/join/signing.hpp"

namespace troupe {
namespace {

tl::unexpected<error> unusable(error_code code, std::string cause) {
  return fail(code, "certificate that was issued", std::move(cause),
              "Check that the driver runs the same version of Troupe, and join with a ticket of this run");
}

}  // namespace

node_identity::node_identity(owned_key key) noexcept : key_(std::move(key)) {}

expected<node_identity> node_identity::make() {
  openssl::key_pointer made = openssl::make_key();
  if (made == nullptr) return openssl::failed("making a key");
  return node_identity(owned_key(made.release(), EVP_PKEY_free));
}

expected<std::string> node_identity::request() const {
  return openssl::make_request(key_.get());
}

expected<tls_credentials> node_identity::credentials(std::string_view certificate, std::string_view authority,
                                                     const peer_name& name) const {
  const openssl::certificate_pointer own = openssl::read_certificate(certificate);
  const openssl::certificate_pointer issuer = openssl::read_certificate(authority);
  if (own == nullptr || issuer == nullptr)
    return unusable(error_code::wire_malformed, "it or its authority's is not one certificate in PEM");
  const bool has_this_key = X509_check_private_key(own.get(), key_.get()) == 1;
  const bool is_signed = X509_verify(own.get(), X509_get0_pubkey(issuer.get())) == 1;
  ERR_clear_error();
  if (!has_this_key) return unusable(error_code::wire_handshake, "it is for another key");
  if (!is_signed) return unusable(error_code::wire_handshake, "it is not signed by the job's authority");
  const auto issued_for = TROUPE_TRY(peer_name_of(own.get()));
  if (issued_for != name) {
    return unusable(error_code::wire_handshake,
                    "it is for " + issued_for.uri() + ", and this process is " + name.uri());
  }
  auto key = TROUPE_TRY(openssl::to_pem(key_.get()));
  return tls_credentials{std::string(certificate), std::move(key), std::string(authority)};
}

}  // namespace troupe
