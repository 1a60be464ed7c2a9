#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/edge/tcp/tls_credentials.hpp"
#include "runtime/join/peer_name.hpp"
#include <troupe/error.hpp>

struct evp_pkey_st;

namespace troupe {

/// An agent's own key, made where it is used: ECDSA on P-256. It is written to no file and leaves the object only in
/// credentials(), for this process. All members from any thread.
class node_identity {
 public:
  /// E0601 if OpenSSL fails.
  [[nodiscard]] static expected<node_identity> make();

  /// A request for a certificate (PKCS #10, PEM) with the public key and nothing else: the driver knows the name from
  /// the ticket. E0601 if OpenSSL fails.
  [[nodiscard]] expected<std::string> request() const;

  /// What this node shows and trusts from now on. E0702 unless both texts are one certificate each; E0707 unless
  /// `certificate` has this key and `name` and is signed by `authority`, which check_authority() has accepted before.
  [[nodiscard]] expected<tls_credentials> credentials(std::string_view certificate, std::string_view authority,
                                                      const peer_name& name) const;

 private:
  using owned_key = std::unique_ptr<evp_pkey_st, void (*)(evp_pkey_st*)>;
  explicit node_identity(owned_key key) noexcept;

  owned_key key_;
};

}  // namespace troupe
