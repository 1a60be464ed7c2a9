// Goal: of what an untrusted peer sends, an authority signs a proven key on P-256 and nothing else.
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <openssl/pem.h>

#include "messages/limits.hpp"
#include "tests/runtime/join/join_test_support.hpp"

namespace troupe::testing {
namespace {

/// The error's number, 0 for a certificate.
int refusal(const std::string& request) {
  static const job_authority authority = *job_authority::make();
  const auto issued = authority.issue(request, "node");
  return issued ? 0 : static_cast<int>(issued.error().code);
}

constexpr int too_large = static_cast<int>(error_code::wire_too_large);
constexpr int malformed = static_cast<int>(error_code::wire_malformed);
constexpr int refused = static_cast<int>(error_code::wire_handshake);

TEST(signing_request, of_an_honest_node_is_signed) {
  EXPECT_EQ(refusal(*node_identity::make()->request()), 0);
  const auto key = ec_key("P-256");
  EXPECT_EQ(refusal(pem_of({.key = key.get()})), 0);
}

TEST(signing_request, of_garbage_is_malformed) {
  const std::string honest = *node_identity::make()->request();
  const std::string begin = "-----BEGIN CERTIFICATE REQUEST-----\n";
  const std::string end = "-----END CERTIFICATE REQUEST-----\n";
  for (const std::string& text :
       {std::string(), std::string("request"), begin + end, begin + "AAAA\n" + end, honest + honest, "x" + honest,
        honest + "x", begin + "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n" + honest.substr(begin.size()),
        certificate_named("URI:troupe:node:a"), std::string(4000, '\0')})
    EXPECT_EQ(refusal(text), malformed) << text;
  EXPECT_EQ(refusal(honest + std::string(limits::join_request_bytes_max, '\n')), too_large);
}

TEST(signing_request, that_is_cut_short_is_refused_at_every_length) {
  const std::string honest = *node_identity::make()->request();
  // The last character is a line's end, which is no part of the block.
  for (std::size_t size = 0; size + 1 < honest.size(); ++size) EXPECT_EQ(refusal(honest.substr(0, size)), malformed);
}

TEST(signing_request, with_a_changed_character_is_never_signed_for_another_key) {
  const std::string honest = *node_identity::make()->request();
  std::mt19937 random(1);
  for (std::size_t at = 0; at < honest.size(); ++at) {
    std::string changed = honest;
    changed[at] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[random() % 64];
    if (changed == honest || at > honest.find("==")) continue;
    // Spare bits before the padding, and a line's end, may say the same.
    const auto request = openssl::read_request(changed);
    const bool is_same =
        request != nullptr && *openssl::to_pem(request.get()) == *openssl::to_pem(openssl::read_request(honest).get());
    if (!is_same) {
      EXPECT_NE(refusal(changed), 0) << at;
    }
  }
}

TEST(signing_request, with_a_weak_or_another_key_is_refused) {
  for (const auto& key : {rsa_key(1024), rsa_key(3072), ec_key("P-224"), ec_key("P-384"), ec_key("secp256k1")})
    EXPECT_EQ(refusal(pem_of({.key = key.get()})), refused);
}

TEST(signing_request, with_the_curve_spelled_out_is_refused) {
  const auto key = ec_key("P-256");
  ASSERT_EQ(EVP_PKEY_set_utf8_string_param(key.get(), "encoding", "explicit"), 1);
  EXPECT_EQ(refusal(pem_of({.key = key.get()})), refused);
}

TEST(signing_request, that_asks_for_anything_is_refused) {
  const auto key = ec_key("P-256");
  EXPECT_EQ(refusal(pem_of({.key = key.get(), .subject = "troupe driver"})), refused);
  EXPECT_EQ(refusal(pem_of({.key = key.get(), .extension = NID_basic_constraints, .value = "CA:TRUE"})), refused);
  for (const char* name : {"URI:troupe:driver", "URI:troupe:node:other", "DNS:driver"})
    EXPECT_EQ(refusal(pem_of({.key = key.get(), .extension = NID_subject_alt_name, .value = name})), refused);
}

TEST(signing_request, that_its_key_has_not_signed_is_refused) {
  const auto key = ec_key("P-256");
  const auto another = ec_key("P-256");
  EXPECT_EQ(refusal(pem_of({.key = key.get(), .signer = another.get()})), refused);
  EXPECT_EQ(refusal(pem_of({.key = key.get(), .digest = EVP_sha1()})), refused);
  EXPECT_EQ(refusal(pem_of({.key = key.get(), .digest = EVP_sha512()})), refused);
}

TEST(signing_request, of_random_bytes_is_malformed) {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    std::string der(random() % 600, '\0');
    for (char& c : der) c = static_cast<char>(random());
    std::string base64(2 * der.size() + 4, '\0');
    const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(base64.data()),
                                     reinterpret_cast<const unsigned char*>(der.data()), static_cast<int>(der.size()));
    base64.resize(static_cast<std::size_t>(size));
    EXPECT_EQ(refusal("-----BEGIN CERTIFICATE REQUEST-----\n" + base64 + "\n-----END CERTIFICATE REQUEST-----\n"),
              malformed);
  }
}

}  // namespace
}  // namespace troupe::testing
