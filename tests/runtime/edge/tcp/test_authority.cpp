#include <array>
#include <memory>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "messages/check.hpp"
#include "tcp_test_support.hpp"

namespace troupe::testing {
namespace {

template <auto Free>
struct freed {
  void operator()(auto* p) const { Free(p); }
};
using key_ptr = std::unique_ptr<EVP_PKEY, freed<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed<X509_free>>;

template <class Write>
std::string pem_of(Write write) {
  const std::unique_ptr<BIO, freed<BIO_free_all>> out(BIO_new(BIO_s_mem()));
  TROUPE_CHECK(write(out.get()) == 1, "writing into memory");
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

certificate_ptr certify(EVP_PKEY* subject, EVP_PKEY* signer, const X509* issuer, const std::string& name,
                        bool is_authority) {
  certificate_ptr made(X509_new());
  X509_set_version(made.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), is_authority ? 1 : 2);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), subject);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer ? issuer : made.get()));
  X509_EXTENSION* constraint = X509V3_EXT_conf_nid(nullptr, nullptr, NID_basic_constraints,
                                                   is_authority ? "critical,CA:TRUE" : "critical,CA:FALSE");
  X509_add_ext(made.get(), constraint, -1);
  X509_EXTENSION_free(constraint);
  TROUPE_CHECK(X509_sign(made.get(), signer, EVP_sha256()) > 0, "a key of one's own signs");
  return made;
}

}  // namespace

struct test_authority::keys {
  key_ptr key{EVP_EC_gen("P-256")};
  certificate_ptr certificate{certify(key.get(), key.get(), nullptr, "test authority", true)};
};

test_authority::test_authority() : keys_(std::make_unique<keys>()) {}
test_authority::~test_authority() = default;

tls_credentials test_authority::issue(const std::string& common_name) const {
  const key_ptr key(EVP_EC_gen("P-256"));
  const auto certificate = certify(key.get(), keys_->key.get(), keys_->certificate.get(), common_name, false);
  return {pem_of([&](BIO* out) { return PEM_write_bio_X509(out, certificate.get()); }), pem_of([&](BIO* out) {
            return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          }),
          pem_of([&](BIO* out) { return PEM_write_bio_X509(out, keys_->certificate.get()); })};
}

expected<std::string> common_name_of(x509_st* certificate) {
  std::array<char, 100> text{};
  const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text.data(),
                                             static_cast<int>(text.size()));
  if (size < 0) return fail(error_code::wire_handshake, "certificate", "without a name");
  return std::string(text.data(), static_cast<std::size_t>(size));
}

const tls_credentials& run_credentials() {
  static const tls_credentials issued = test_authority().issue();
  return issued;
}

}  // namespace troupe::testing
