#include <utility>

#include "messages/limits.hpp"
#include "runtime/join/signing.hpp"

namespace troupe::openssl {
namespace {

/// 159 bits: positive, and within the 20 bytes that RFC 5280 permits.
constexpr int serial_bits = 159;

bool add_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const extension_pointer made(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return made != nullptr && X509_add_ext(certificate, made.get(), -1) == 1;
}

/// Made of objects: a text of OpenSSL's configuration has its own meaning of commas and colons.
bool add_name(X509* certificate, const std::string& uri) {
  const names_pointer names(GENERAL_NAMES_new());
  if (names == nullptr) return false;
  GENERAL_NAME* const name = GENERAL_NAME_new();
  if (name == nullptr || sk_GENERAL_NAME_push(names.get(), name) == 0) {
    GENERAL_NAME_free(name);
    return false;
  }
  ASN1_IA5STRING* const text = ASN1_IA5STRING_new();
  if (text == nullptr) return false;
  GENERAL_NAME_set0_value(name, GEN_URI, text);
  return ASN1_STRING_set(text, uri.data(), static_cast<int>(uri.size())) == 1 &&
         X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
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

bool copy_validity(X509* certificate, const X509* authority) {
  return X509_set1_notBefore(certificate, X509_get0_notBefore(authority)) == 1 &&
         X509_set1_notAfter(certificate, X509_get0_notAfter(authority)) == 1;
}

certificate_pointer begin_certificate(EVP_PKEY* key, const std::string& common_name) {
  certificate_pointer made(X509_new());
  const auto* text = reinterpret_cast<const unsigned char*>(common_name.data());
  const bool is_begun = made != nullptr && X509_set_version(made.get(), X509_VERSION_3) == 1 &&
                        set_serial(made.get()) &&
                        X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8, text,
                                                   static_cast<int>(common_name.size()), -1, 0) == 1 &&
                        X509_set_pubkey(made.get(), key) == 1;
  return is_begun ? std::move(made) : nullptr;
}

}  // namespace

expected<certificate_pointer> sign_authority(EVP_PKEY* key, const std::string& common_name) {
  certificate_pointer made = begin_certificate(key, common_name);
  X509* const certificate = made.get();
  if (made == nullptr || !set_validity(certificate) ||
      X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) != 1 ||
      !add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !add_extension(certificate, certificate, NID_subject_key_identifier, "hash") ||
      X509_sign(certificate, key, EVP_sha256()) == 0) {
    return failed("making the authority's certificate");
  }
  return made;
}

expected<certificate_pointer> sign_member(EVP_PKEY* key, const peer_name& name, X509* authority,
                                          EVP_PKEY* authority_key) {
  certificate_pointer made = begin_certificate(key, name.is_driver() ? "troupe driver" : "troupe node");
  X509* const certificate = made.get();
  if (made == nullptr || !copy_validity(certificate, authority) ||
      X509_set_issuer_name(certificate, X509_get_subject_name(authority)) != 1 ||
      !add_extension(certificate, authority, NID_basic_constraints, "critical,CA:FALSE") ||
      !add_extension(certificate, authority, NID_key_usage, "critical,digitalSignature") ||
      !add_extension(certificate, authority, NID_ext_key_usage, "serverAuth,clientAuth") ||
      !add_extension(certificate, authority, NID_subject_key_identifier, "hash") ||
      !add_extension(certificate, authority, NID_authority_key_identifier, "keyid:always") ||
      !add_name(certificate, name.uri()) || X509_sign(certificate, authority_key, EVP_sha256()) == 0) {
    return failed("signing a certificate");
  }
  return made;
}

}  // namespace troupe::openssl
