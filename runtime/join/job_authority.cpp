#include "runtime/join/job_authority.hpp"

#include <mutex>
#include <utility>

#include <openssl/crypto.h>

#include "messages/try.hpp"
#include "runtime/join/node_identity.hpp"
#include "runtime/join/signing.hpp"
#include "runtime/os/random_secret.hpp"

namespace troupe {

struct job_authority::state {
  openssl::key_pointer key;
  openssl::certificate_pointer certificate;
  std::string pem;
  authority_fingerprint fingerprint{};
  std::mutex signing;

  expected<std::string> sign(std::string_view request, const peer_name& name) {
    const auto subject_key = TROUPE_TRY(openssl::key_of_request(request));
    const std::lock_guard lock(signing);
    const auto made = TROUPE_TRY(openssl::sign_member(subject_key.get(), name, certificate.get(), key.get()));
    return openssl::to_pem(made.get());
  }
};

job_authority::job_authority(std::unique_ptr<state> made) noexcept : state_(std::move(made)) {}
job_authority::job_authority(job_authority&&) noexcept = default;
job_authority& job_authority::operator=(job_authority&&) noexcept = default;
job_authority::~job_authority() = default;

expected<job_authority> job_authority::make() {
  // Its listener serves nodes until the process has ended: without this OpenSSL takes itself down early in exit().
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  const auto id = TROUPE_TRY(random_secret::make());
  auto made = std::make_unique<state>();
  made->key = openssl::make_key();
  if (made->key == nullptr) return openssl::failed("making the authority's key");
  made->certificate = TROUPE_TRY(openssl::sign_authority(made->key.get(), "troupe job " + id.hex()));
  made->pem = TROUPE_TRY(openssl::to_pem(made->certificate.get()));
  made->fingerprint = TROUPE_TRY(fingerprint_of(made->pem));
  return job_authority(std::move(made));
}

const std::string& job_authority::certificate() const noexcept {
  return state_->pem;
}

const authority_fingerprint& job_authority::fingerprint() const noexcept {
  return state_->fingerprint;
}

expected<std::string> job_authority::issue(std::string_view request, std::string_view node_name) const {
  const auto name = TROUPE_TRY(peer_name::of_node(node_name));
  return state_->sign(request, name);
}

expected<tls_credentials> job_authority::make_driver_credentials() const {
  const auto identity = TROUPE_TRY(node_identity::make());
  const auto request = TROUPE_TRY(identity.request());
  const auto certificate = TROUPE_TRY(state_->sign(request, peer_name::driver()));
  return identity.credentials(certificate, state_->pem, peer_name::driver());
}

}  // namespace troupe
