#include "runtime/join/authority_check.hpp"

#include <ctime>

#include <openssl/crypto.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include "runtime/join/openssl_objects.hpp"

namespace troupe {
namespace {

/// Frees the list and not what it lists.
using list_pointer =
    std::unique_ptr<STACK_OF(X509), openssl::freed_with<[](STACK_OF(X509) * list) { sk_X509_free(list); }>>;

bool is_of(X509* certificate, const authority_fingerprint& wanted) {
  authority_fingerprint found{};
  return X509_digest(certificate, EVP_sha256(), found.data(), nullptr) == 1 &&
         CRYPTO_memcmp(found.data(), wanted.data(), found.size()) == 0;
}

}  // namespace

chain_verdict judge_chain(x509_store_ctx_st* chain, const authority_fingerprint& authority, std::int64_t now) {
  const list_pointer believed(sk_X509_new_null());
  STACK_OF(X509)* const shown = X509_STORE_CTX_get0_untrusted(chain);
  for (int i = 0; believed != nullptr && i < sk_X509_num(shown); ++i) {
    if (is_of(sk_X509_value(shown, i), authority)) sk_X509_push(believed.get(), sk_X509_value(shown, i));
  }
  if (believed == nullptr || sk_X509_num(believed.get()) == 0) {
    X509_STORE_CTX_set_error(chain, X509_V_ERR_CERT_UNTRUSTED);
    return chain_verdict::other_authority;
  }
  time_t at = now;
  const X509* const own = sk_X509_value(believed.get(), 0);
  if (X509_cmp_time(X509_get0_notBefore(own), &at) > 0 || X509_cmp_time(X509_get0_notAfter(own), &at) < 0) {
    X509_STORE_CTX_set_error(chain, X509_V_ERR_CERT_NOT_YET_VALID);
    return chain_verdict::not_valid_now;
  }
  X509_STORE_CTX_set_time(chain, 0, at);
  X509_STORE_CTX_set0_trusted_stack(chain, believed.get());
  return X509_verify_cert(chain) == 1 ? chain_verdict::right : chain_verdict::unusable;
}

}  // namespace troupe
