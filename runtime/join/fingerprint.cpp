#include "runtime/join/fingerprint.hpp"

#include <openssl/crypto.h>

#include "messages/try.hpp"
#include "runtime/join/openssl_objects.hpp"

namespace troupe {

expected<authority_fingerprint> fingerprint_of(std::string_view certificate_pem) {
  const openssl::certificate_pointer certificate = openssl::read_certificate(certificate_pem);
  if (certificate == nullptr) {
    return fail(error_code::wire_malformed, "certificate of the job's authority", "it is not one certificate in PEM",
                "Check that both ends run the same version of Troupe");
  }
  authority_fingerprint made{};
  if (X509_digest(certificate.get(), EVP_sha256(), made.data(), nullptr) != 1)
    return openssl::failed("hashing a certificate");
  return made;
}

expected<void> check_authority(std::string_view certificate_pem, const authority_fingerprint& expected_fingerprint) {
  const auto shown = TROUPE_TRY(fingerprint_of(certificate_pem));
  if (CRYPTO_memcmp(shown.data(), expected_fingerprint.data(), shown.size()) == 0) return {};
  return fail(error_code::wire_handshake, "certificate of the job's authority", "it is not the one of the join ticket",
              "Join with a ticket of this run; another program may be listening at the driver's address");
}

}  // namespace troupe
