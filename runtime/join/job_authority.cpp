#include "runtime/join/job_authority.hpp"

#include <mutex>
#include <utility>

#include <openssl/crypto.h>

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
    const auto subject_key = openssl::key_of_request(request);
    if (!subject_key) return tl::make_unexpected(subject_key.error());
    const std::lock_guard lock(signing);
    const auto made = openssl::sign_member(subject_key->get(), name, certificate.get(), key.get());
    if (!made) return tl::make_unexpected(made.error());
    return openssl::to_pem(made->get());
  }
};

job_authority::job_authority(std::unique_ptr<state> made) noexcept : state_(std::move(made)) {}
job_authority::job_authority(job_authority&&) noexcept = default;
job_authority& job_authority::operator=(job_authority&&) noexcept = default;
job_authority::~job_authority() = default;

expected<job_authority> job_authority::make() {
  // Its listener serves nodes until the process has ended: without this OpenSSL takes itself down early in exit().
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  const auto id = random_secret::make();
  if (!id) return tl::make_unexpected(id.error());
  auto made = std::make_unique<state>();
  made->key = openssl::make_key();
  if (made->key == nullptr) return openssl::failed("making the authority's key");
  auto certificate = openssl::sign_authority(made->key.get(), "troupe job " + id->hex());
  if (!certificate) return tl::make_unexpected(certificate.error());
  made->certificate = std::move(*certificate);
  auto pem = openssl::to_pem(made->certificate.get());
  if (!pem) return tl::make_unexpected(pem.error());
  made->pem = std::move(*pem);
  const auto fingerprint = fingerprint_of(made->pem);
  if (!fingerprint) return tl::make_unexpected(fingerprint.error());
  made->fingerprint = *fingerprint;
  return job_authority(std::move(made));
}

const std::string& job_authority::certificate() const noexcept {
  return state_->pem;
}

const authority_fingerprint& job_authority::fingerprint() const noexcept {
  return state_->fingerprint;
}

expected<std::string> job_authority::issue(std::string_view request, std::string_view node_name) const {
  const auto name = peer_name::of_node(node_name);
  if (!name) return tl::make_unexpected(name.error());
  return state_->sign(request, *name);
}

expected<tls_credentials> job_authority::make_driver_credentials() const {
  const auto identity = node_identity::make();
  if (!identity) return tl::make_unexpected(identity.error());
  const auto request = identity->request();
  if (!request) return tl::make_unexpected(request.error());
  const auto certificate = state_->sign(*request, peer_name::driver());
  if (!certificate) return tl::make_unexpected(certificate.error());
  return identity->credentials(*certificate, state_->pem, peer_name::driver());
}

}  // namespace troupe
