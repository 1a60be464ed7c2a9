#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <troupe/error.hpp>

/// OpenSSL's objects with owners, for the sources of runtime/join alone: its other headers need no OpenSSL.
namespace troupe::openssl {

template <auto free>
struct freed_with {
  template <class T>
  void operator()(T* object) const noexcept {
    free(object);
  }
};
using key_pointer = std::unique_ptr<EVP_PKEY, freed_with<EVP_PKEY_free>>;
using request_pointer = std::unique_ptr<X509_REQ, freed_with<X509_REQ_free>>;
using certificate_pointer = std::unique_ptr<X509, freed_with<X509_free>>;
using extension_pointer = std::unique_ptr<X509_EXTENSION, freed_with<X509_EXTENSION_free>>;
using names_pointer = std::unique_ptr<GENERAL_NAMES, freed_with<GENERAL_NAMES_free>>;
using bio_pointer = std::unique_ptr<BIO, freed_with<BIO_free_all>>;
using number_pointer = std::unique_ptr<BIGNUM, freed_with<BN_clear_free>>;

/// E0601 with OpenSSL's reason. The calling thread's queue of OpenSSL's errors is empty afterwards.
[[nodiscard]] tl::unexpected<error> failed(const char* what);

/// A new key of the one kind that a job has: ECDSA on P-256. Null if OpenSSL fails.
[[nodiscard]] key_pointer make_key();

/// Null unless the text is one PEM block of the right kind (RFC 7468, without headers, so that no password is asked
/// for) and nothing else but white space at its end. Threads: pure.
[[nodiscard]] certificate_pointer read_certificate(std::string_view pem);
[[nodiscard]] request_pointer read_request(std::string_view pem);

/// PEM. E0601 if OpenSSL fails.
[[nodiscard]] expected<std::string> to_pem(X509* certificate);
[[nodiscard]] expected<std::string> to_pem(X509_REQ* request);
[[nodiscard]] expected<std::string> to_pem(EVP_PKEY* private_key);

}  // namespace troupe::openssl
