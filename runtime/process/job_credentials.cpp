#include "runtime/process/job_credentials.hpp"

#include <initializer_list>
#include <memory>
#include <utility>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "messages/limits.hpp"
#include "runtime/os/random_secret.hpp"

namespace troupe {
namespace {

template <auto free>
struct freed_with {
  template <class T>
  void operator()(T* object) const noexcept {
    free(object);
  }
};
using key_pointer = std::unique_ptr<EVP_PKEY, freed_with<EVP_PKEY_free>>;
using certificate_pointer = std::unique_ptr<X509, freed_with<X509_free>>;
using extension_pointer = std::unique_ptr<X509_EXTENSION, freed_with<X509_EXTENSION_free>>;
using bio_pointer = std::unique_ptr<BIO, freed_with<BIO_free_all>>;
using number_pointer = std::unique_ptr<BIGNUM, freed_with<BN_clear_free>>;

/// 159 bits: positive, and within the 20 bytes that RFC 5280 permits.
constexpr int serial_bits = 159;

tl::unexpected<error> openssl_failed(const char* what) {
  std::string cause = std::string(what) + " failed";
  if (const char* reason = ERR_reason_error_string(ERR_get_error()); reason != nullptr)
    cause += std::string(": ") + reason;
  ERR_clear_error();
  return fail(error_code::internal, "credentials of the run", std::move(cause), "check the installation of OpenSSL 3");
}

struct signed_identity {
  certificate_pointer certificate;
  key_pointer key;
};

struct extension {
  int nid;
  const char* value;
};

bool add_extension(X509* certificate, X509* issuer, extension added) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const extension_pointer made(X509V3_EXT_conf_nid(nullptr, &context, added.nid, added.value));
  return made != nullptr && X509_add_ext(certificate, made.get(), -1) == 1;
}

bool set_serial(X509* certificate) {
  const number_pointer serial(BN_new());
  return serial != nullptr && BN_rand(serial.get(), serial_bits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_validity(X509* certificate) {
  const auto seconds = [](std::chrono::seconds duration) { return static_cast<long>(duration.count()); };
  return X509_gmtime_adj(X509_getm_notBefore(certificate), -seconds(limits::credentials_valid_before)) != nullptr &&
         X509_gmtime_adj(X509_getm_notAfter(certificate), seconds(limits::credentials_valid_after)) != nullptr;
}

bool set_subject(X509* certificate, const std::string& common_name) {
  const auto* text = reinterpret_cast<const unsigned char*>(common_name.data());
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8, text,
                                    static_cast<int>(common_name.size()), -1, 0) == 1;
}

/// `authority`: who signs; none for one that signs itself.
expected<signed_identity> make_identity(const std::string& common_name, const signed_identity* authority,
                                        std::initializer_list<extension> extensions) {
  signed_identity made{certificate_pointer(X509_new()), key_pointer(EVP_EC_gen("P-256"))};
  X509* certificate = made.certificate.get();
  if (certificate == nullptr || made.key == nullptr) return openssl_failed("making a key");
  const signed_identity& signer = authority != nullptr ? *authority : made;
  if (X509_set_version(certificate, X509_VERSION_3) != 1 || !set_serial(certificate) || !set_validity(certificate) ||
      !set_subject(certificate, common_name) ||
      X509_set_issuer_name(certificate, X509_get_subject_name(signer.certificate.get())) != 1 ||
      X509_set_pubkey(certificate, made.key.get()) != 1) {
    return openssl_failed("describing a certificate");
  }
  for (const extension& added : extensions) {
    if (!add_extension(certificate, signer.certificate.get(), added)) return openssl_failed(OBJ_nid2sn(added.nid));
  }
  if (X509_sign(certificate, signer.key.get(), EVP_sha256()) == 0) return openssl_failed("signing a certificate");
  return made;
}

expected<signed_identity> make_authority(const std::string& name) {
  return make_identity(name, nullptr,
                       {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                        {NID_key_usage, "critical,keyCertSign,cRLSign"},
                        {NID_subject_key_identifier, "hash"}});
}

expected<signed_identity> make_member(const std::string& name, const signed_identity& authority) {
  return make_identity(name, &authority,
                       {{NID_basic_constraints, "critical,CA:FALSE"},
                        {NID_key_usage, "critical,digitalSignature"},
                        {NID_ext_key_usage, "serverAuth,clientAuth"},
                        {NID_subject_key_identifier, "hash"},
                        {NID_authority_key_identifier, "keyid:always"}});
}

/// What `write` puts into a BIO.
template <class Write>
expected<std::string> pem_of(Write write) {
  const bio_pointer memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr || write(memory.get()) != 1) return openssl_failed("writing PEM");
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

expected<std::string> certificate_pem(const signed_identity& of) {
  return pem_of([&](BIO* out) { return PEM_write_bio_X509(out, of.certificate.get()); });
}

expected<pem_identity> make_pem_member(const std::string& name, const signed_identity& authority) {
  auto member = make_member(name, authority);
  if (!member) return tl::make_unexpected(member.error());
  auto certificate = certificate_pem(*member);
  if (!certificate) return tl::make_unexpected(certificate.error());
  auto key = pem_of([&](BIO* out) {
    return PEM_write_bio_PrivateKey(out, member->key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  if (!key) return tl::make_unexpected(key.error());
  return pem_identity{std::move(*certificate), std::move(*key)};
}

}  // namespace

expected<job_credentials> make_job_credentials() {
  const auto id = random_secret::make();
  if (!id) return tl::make_unexpected(id.error());
  const std::string name = "troupe job " + id->hex();
  const auto authority = make_authority(name);
  if (!authority) return tl::make_unexpected(authority.error());
  auto ca_certificate = certificate_pem(*authority);
  if (!ca_certificate) return tl::make_unexpected(ca_certificate.error());
  auto driver = make_pem_member(name + " driver", *authority);
  if (!driver) return tl::make_unexpected(driver.error());
  auto worker = make_pem_member(name + " worker", *authority);
  if (!worker) return tl::make_unexpected(worker.error());
  return job_credentials{std::move(*ca_certificate), std::move(*driver), std::move(*worker)};
}

}  // namespace troupe
