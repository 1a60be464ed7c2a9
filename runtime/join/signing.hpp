#pragma once

#include <string>
#include <string_view>

#include "runtime/join/openssl_objects.hpp"
#include "runtime/join/peer_name.hpp"

/// What job_authority and node_identity are made of. X.509 version 3 (RFC 5280), signed by ECDSA on P-256 with SHA-256.
namespace troupe::openssl {

/// A certificate by which `key` signs others, and which it signs itself: valid from limits::credentials_valid_before
/// ago until limits::credentials_valid_after from now. E0601 if OpenSSL fails.
[[nodiscard]] expected<certificate_pointer> sign_authority(EVP_PKEY* key, const std::string& common_name);

/// A certificate for `key` with that name alone, for clients and servers, valid as long as the authority's and unable
/// to sign others. The serial number is random. E0601 if OpenSSL fails.
[[nodiscard]] expected<certificate_pointer> sign_member(EVP_PKEY* key, const peer_name& name, X509* authority,
                                                        EVP_PKEY* authority_key);

/// A request (PKCS #10, RFC 2986) as PEM that asks for nothing but a signature: no subject, no attributes. E0601 if
/// OpenSSL fails.
[[nodiscard]] expected<std::string> make_request(EVP_PKEY* key);

/// The public key of such a request, of which the sender has the private one. E0701 for a text of more than
/// limits::join_request_bytes_max bytes, E0702 for one that is no request, and E0707 for a request with a subject or
/// attributes, with a key that is not on P-256, or not signed by its key.
[[nodiscard]] expected<key_pointer> key_of_request(std::string_view pem);

}  // namespace troupe::openssl
