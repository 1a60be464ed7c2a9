#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/edge/tcp/tls_credentials.hpp"
#include "runtime/join/fingerprint.hpp"
#include <troupe/error.hpp>

namespace troupe {

/// The certificate authority of one job, in the memory of its driver. Its private key never leaves the object and is
/// erased with it. All members from any thread; signatures are made one after the other.
class job_authority {
 public:
  /// An EC key on P-256 and a certificate that it signs itself, valid from limits::credentials_valid_before ago until
  /// limits::credentials_valid_after from now. E0601 if OpenSSL fails, E0614 without random numbers.
  [[nodiscard]] static expected<job_authority> make();
  job_authority(job_authority&&) noexcept;
  job_authority& operator=(job_authority&&) noexcept;
  ~job_authority();

  /// PEM; its subject is "CN = troupe job <32 hexadecimal digits>".
  [[nodiscard]] const std::string& certificate() const noexcept;
  [[nodiscard]] const authority_fingerprint& fingerprint() const noexcept;

  /// A certificate (PEM) for the key of a request and for that node alone (peer_name), for clients and servers, valid
  /// as long as the authority's. The caller has made sure that the request comes from the node: a ticket was redeemed
  /// (ticket_book). Of the request only the key is used. E0404 for a text that is no name of a node; E0701, E0702 or
  /// E0707 for a request that is too large, none, or asks for more than a signature of a key on P-256 that it has
  /// itself signed; E0601 if OpenSSL fails.
  [[nodiscard]] expected<std::string> issue(std::string_view request, std::string_view node_name) const;

  /// A new key with the certificate that says peer_name::driver(), which no request can get. E0601 if OpenSSL fails.
  [[nodiscard]] expected<tls_credentials> make_driver_credentials() const;

 private:
  struct state;
  explicit job_authority(std::unique_ptr<state> made) noexcept;

  std::unique_ptr<state> state_;
};

}  // namespace troupe
