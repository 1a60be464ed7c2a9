#pragma once

#include <string>

#include <troupe/error.hpp>

namespace troupe {

/// A certificate and its private key, both PEM.
struct pem_identity {
  std::string certificate;
  std::string key;  ///< PKCS #8, not encrypted: for a memory_file, never for a disk
};

/// Certificates by which the processes of one run know each other, under mutual TLS: every holder of a certificate of
/// this authority belongs to the run. The authority's own key is destroyed, so no further one can be signed.
struct job_credentials {
  std::string ca_certificate;  ///< PEM; subject "CN = troupe job <32 hexadecimal digits>"
  pem_identity driver;
  pem_identity worker;  ///< the same for all workers
};

/// EC keys on P-256, X.509 version 3 signed with SHA-256, valid from credentials_valid_before ago until
/// credentials_valid_after from now. The two identities serve as client and as server and can sign no certificates.
/// From any thread. E0601 if OpenSSL fails.
[[nodiscard]] expected<job_credentials> make_job_credentials();

}  // namespace troupe
