#include <utility>

#include <openssl/err.h>

#include "messages/limits.hpp"
#include "runtime/join/signing.hpp"

namespace troupe::openssl {
namespace {

tl::unexpected<error> refuse_request(error_code code, std::string cause) {
  return fail(code, "request for a certificate", std::move(cause),
              "Check that both ends run the same version of Troupe, and that no other program uses the driver's port");
}

/// By the name of its curve: parameters of one's own are refused even if they are those of P-256.
bool is_on_p256(X509_REQ* request) {
  ASN1_OBJECT* kind = nullptr;
  X509_ALGOR* algorithm = nullptr;
  X509_PUBKEY* const key = X509_REQ_get_X509_PUBKEY(request);
  if (key == nullptr || X509_PUBKEY_get0_param(&kind, nullptr, nullptr, &algorithm, key) != 1) return false;
  int form = 0;
  const void* curve = nullptr;
  X509_ALGOR_get0(nullptr, &form, &curve, algorithm);
  return OBJ_obj2nid(kind) == NID_X9_62_id_ecPublicKey && form == V_ASN1_OBJECT &&
         OBJ_obj2nid(static_cast<const ASN1_OBJECT*>(curve)) == NID_X9_62_prime256v1;
}

bool asks_for_nothing(const X509_REQ* request) {
  return X509_NAME_entry_count(X509_REQ_get_subject_name(request)) == 0 && X509_REQ_get_attr_count(request) == 0;
}

}  // namespace

expected<std::string> make_request(EVP_PKEY* key) {
  const request_pointer request(X509_REQ_new());
  if (request == nullptr || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
      X509_REQ_set_pubkey(request.get(), key) != 1 || X509_REQ_sign(request.get(), key, EVP_sha256()) == 0) {
    return failed("making a request for a certificate");
  }
  return to_pem(request.get());
}

expected<key_pointer> key_of_request(std::string_view pem) {
  if (pem.size() > limits::join_request_bytes_max) {
    return refuse_request(error_code::wire_too_large, "it has " + std::to_string(pem.size()) + " bytes, " +
                                                          std::to_string(limits::join_request_bytes_max) +
                                                          " are permitted");
  }
  const request_pointer request = read_request(pem);
  if (request == nullptr || X509_REQ_get_version(request.get()) != X509_REQ_VERSION_1)
    return refuse_request(error_code::wire_malformed, "it is not one request of PKCS #10 in PEM");
  if (!asks_for_nothing(request.get()))
    return refuse_request(error_code::wire_handshake, "it asks for a subject or for extensions");
  if (!is_on_p256(request.get())) return refuse_request(error_code::wire_handshake, "its key is none on P-256");
  key_pointer key(X509_REQ_get_pubkey(request.get()));
  const bool is_its_own = key != nullptr && X509_REQ_get_signature_nid(request.get()) == NID_ecdsa_with_SHA256 &&
                          X509_REQ_verify(request.get(), key.get()) == 1;
  ERR_clear_error();
  if (!is_its_own) return refuse_request(error_code::wire_handshake, "it is not signed by its key with SHA-256");
  return key;
}

}  // namespace troupe::openssl
