// Goal: driver and worker of one run accept each other alone under TLS. OpenSSL itself judges.
#include "runtime/process/job_credentials.hpp"

#include <ctime>
#include <memory>

#include <gmock/gmock.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "runtime/process/memory_file.hpp"

namespace troupe::testing {
namespace {

using ::testing::MatchesRegex;

template <auto free>
struct freed_with {
  template <class T>
  void operator()(T* object) const noexcept {
    free(object);
  }
};
using certificate_pointer = std::unique_ptr<X509, freed_with<X509_free>>;
using key_pointer = std::unique_ptr<EVP_PKEY, freed_with<EVP_PKEY_free>>;
using store_pointer = std::unique_ptr<X509_STORE, freed_with<X509_STORE_free>>;
using store_context_pointer = std::unique_ptr<X509_STORE_CTX, freed_with<X509_STORE_CTX_free>>;
using context_pointer = std::unique_ptr<SSL_CTX, freed_with<SSL_CTX_free>>;
using ssl_pointer = std::unique_ptr<SSL, freed_with<SSL_free>>;
using bio_pointer = std::unique_ptr<BIO, freed_with<BIO_free_all>>;

const job_credentials& credentials() {
  static const job_credentials made = *make_job_credentials();
  return made;
}

const job_credentials& others_credentials() {
  static const job_credentials made = *make_job_credentials();
  return made;
}

bio_pointer reading(const std::string& text) {
  return bio_pointer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

certificate_pointer certificate_of(const std::string& pem) {
  return certificate_pointer(PEM_read_bio_X509(reading(pem).get(), nullptr, nullptr, nullptr));
}

std::string subject_of(const std::string& pem) {
  char text[256] = {};
  X509_NAME_oneline(X509_get_subject_name(certificate_of(pem).get()), text, sizeof(text));
  return text;
}

/// X509_V_OK, or why the authority does not vouch for the certificate.
int verdict(const std::string& authority, const std::string& certificate, int purpose, std::time_t at = 0) {
  const store_pointer store(X509_STORE_new());
  X509_STORE_add_cert(store.get(), certificate_of(authority).get());
  const store_context_pointer context(X509_STORE_CTX_new());
  const auto judged = certificate_of(certificate);
  X509_STORE_CTX_init(context.get(), store.get(), judged.get(), nullptr);
  X509_STORE_CTX_set_purpose(context.get(), purpose);
  X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context.get()), X509_V_FLAG_X509_STRICT);
  if (at != 0) X509_STORE_CTX_set_time(context.get(), 0, at);
  return X509_verify_cert(context.get()) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(context.get());
}

TEST(job_credentials, names_say_the_run) {
  EXPECT_THAT(subject_of(credentials().ca_certificate), MatchesRegex("/CN=troupe job [0-9a-f]{32}"));
  EXPECT_THAT(subject_of(credentials().driver.certificate), MatchesRegex("/CN=troupe job [0-9a-f]{32} driver"));
  EXPECT_THAT(subject_of(credentials().worker.certificate), MatchesRegex("/CN=troupe job [0-9a-f]{32} worker"));
}

TEST(job_credentials, the_authority_vouches_for_its_members_in_both_roles) {
  for (const pem_identity& member : {credentials().driver, credentials().worker}) {
    for (const int purpose : {X509_PURPOSE_SSL_CLIENT, X509_PURPOSE_SSL_SERVER}) {
      EXPECT_EQ(verdict(credentials().ca_certificate, member.certificate, purpose), X509_V_OK);
    }
  }
  const auto authority = certificate_of(credentials().ca_certificate);
  const auto worker = certificate_of(credentials().worker.certificate);
  EXPECT_EQ(X509_verify(worker.get(), X509_get0_pubkey(authority.get())), 1);
  EXPECT_EQ(X509_check_ca(authority.get()), 1);
  EXPECT_EQ(X509_check_ca(worker.get()), 0);
}

TEST(job_credentials, keys_belong_to_their_certificates) {
  for (const pem_identity& member : {credentials().driver, credentials().worker}) {
    const key_pointer key(PEM_read_bio_PrivateKey(reading(member.key).get(), nullptr, nullptr, nullptr));
    ASSERT_NE(key, nullptr);
    EXPECT_EQ(X509_check_private_key(certificate_of(member.certificate).get(), key.get()), 1);
    EXPECT_EQ(EVP_PKEY_get_bits(key.get()), 256);
  }
  EXPECT_NE(credentials().driver.key, credentials().worker.key);
}

TEST(job_credentials, another_authority_does_not_vouch) {
  EXPECT_NE(verdict(others_credentials().ca_certificate, credentials().worker.certificate, X509_PURPOSE_SSL_CLIENT),
            X509_V_OK);
  // Nor does a member as an authority.
  EXPECT_NE(verdict(credentials().driver.certificate, credentials().worker.certificate, X509_PURPOSE_SSL_CLIENT),
            X509_V_OK);
}

TEST(job_credentials, are_valid_from_a_day_ago_for_a_month) {
  credentials();
  const std::time_t now = std::time(nullptr);
  const auto at_hour = [&](int hours) {
    return verdict(credentials().ca_certificate, credentials().driver.certificate, X509_PURPOSE_SSL_SERVER,
                   now + hours * 3600L);
  };
  EXPECT_EQ(at_hour(-23), X509_V_OK);
  EXPECT_EQ(at_hour(-25), X509_V_ERR_CERT_NOT_YET_VALID);
  EXPECT_EQ(at_hour(30 * 24 - 1), X509_V_OK);
  EXPECT_EQ(at_hour(30 * 24 + 1), X509_V_ERR_CERT_HAS_EXPIRED);
}

/// As a library that wants names of files does it.
context_pointer context_of(const pem_identity& member, const std::string& authority) {
  context_pointer context(SSL_CTX_new(TLS_method()));
  const auto certificate = memory_file::make("certificate", member.certificate);
  const auto key = memory_file::make("key", member.key);
  const auto ca = memory_file::make("ca", authority);
  EXPECT_EQ(SSL_CTX_use_certificate_file(context.get(), certificate->path().c_str(), SSL_FILETYPE_PEM), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), key->path().c_str(), SSL_FILETYPE_PEM), 1);
  EXPECT_EQ(SSL_CTX_load_verify_locations(context.get(), ca->path().c_str(), nullptr), 1);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return context;
}

/// Both ends in memory: true when each has accepted the other and a byte has passed both ways.
bool shake_hands(SSL_CTX* client_context, SSL_CTX* server_context) {
  const ssl_pointer client(SSL_new(client_context));
  const ssl_pointer server(SSL_new(server_context));
  BIO* client_end = nullptr;
  BIO* server_end = nullptr;
  BIO_new_bio_pair(&client_end, 0, &server_end, 0);
  SSL_set_bio(client.get(), client_end, client_end);
  SSL_set_bio(server.get(), server_end, server_end);
  SSL_set_connect_state(client.get());
  SSL_set_accept_state(server.get());
  for (int turn = 0; turn < 20; ++turn) {
    SSL_do_handshake(client.get());
    SSL_do_handshake(server.get());
  }
  ERR_clear_error();
  char byte = 'x';
  const auto passes = [&](SSL* from, SSL* to) { return SSL_write(from, &byte, 1) == 1 && SSL_read(to, &byte, 1) == 1; };
  return SSL_is_init_finished(client.get()) == 1 && SSL_is_init_finished(server.get()) == 1 &&
         passes(client.get(), server.get()) && passes(server.get(), client.get());
}

TEST(job_credentials, members_of_a_run_shake_hands_in_both_directions) {
  const auto driver = context_of(credentials().driver, credentials().ca_certificate);
  const auto worker = context_of(credentials().worker, credentials().ca_certificate);
  EXPECT_TRUE(shake_hands(worker.get(), driver.get()));
  EXPECT_TRUE(shake_hands(driver.get(), worker.get()));
  EXPECT_TRUE(shake_hands(worker.get(), worker.get()));
}

TEST(job_credentials, members_of_another_run_are_refused_in_both_directions) {
  const auto driver = context_of(credentials().driver, credentials().ca_certificate);
  // One that trusts us, but whom we do not know: the refusal is ours.
  const auto untrusted_peer = context_of(others_credentials().worker, credentials().ca_certificate);
  EXPECT_FALSE(shake_hands(untrusted_peer.get(), driver.get()));
  EXPECT_FALSE(shake_hands(driver.get(), untrusted_peer.get()));
  const context_pointer nobody(SSL_CTX_new(TLS_method()));
  EXPECT_FALSE(shake_hands(nobody.get(), driver.get()));
}

}  // namespace
}  // namespace troupe::testing
