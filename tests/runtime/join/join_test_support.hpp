#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "runtime/join/job_authority.hpp"
#include "runtime/join/node_identity.hpp"
#include "runtime/join/openssl_objects.hpp"

namespace troupe::testing {

/// A key that signs what a test asks for; the product's own are P-256.
openssl::key_pointer rsa_key(unsigned bits);
openssl::key_pointer ec_key(const char* curve);

/// A request with whatever an untrusted peer puts into it.
struct odd_request {
  EVP_PKEY* key = nullptr;
  EVP_PKEY* signer = nullptr;  ///< null: `key`
  std::string subject = {};
  int extension = 0;  ///< a NID with its value in OpenSSL's words
  std::string value = {};
  const EVP_MD* digest = EVP_sha256();
};
std::string pem_of(const odd_request& asked);

/// A node that has joined: its own key, and a certificate of the authority.
tls_credentials joined(const job_authority& authority, const std::string& node);

/// A certificate with these alternative names (OpenSSL's words, "URI:a,DNS:b"; none if empty), signed by itself.
std::string certificate_named(const std::string& names, bool is_authority = false);

openssl::certificate_pointer certificate_of(std::string_view pem);
openssl::key_pointer private_key_of(std::string_view pem);

/// What each end of a TLS 1.3 handshake found; the names are texts of peer_name::uri(), or of the error.
struct handshake_result {
  bool both_accepted = false;
  std::string client_sees;
  std::string server_sees;
};
/// Both ends in memory. Further certificates after a client's or server's own go along as links of its chain. `at`: the
/// time at which certificates are judged; 0: now.
handshake_result shake_hands(const tls_credentials& client, const tls_credentials& server, std::time_t at = 0);

/// A directory of its own, gone with the object.
class scratch_directory {
 public:
  scratch_directory();
  ~scratch_directory();
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  /// The path of a new file with that content.
  [[nodiscard]] std::string file(std::string_view name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

}  // namespace troupe::testing
