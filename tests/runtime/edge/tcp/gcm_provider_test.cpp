// Goal: AES-GCM of ipsec-mb is AES-GCM, whatever OpenSSL asks, and refuses what was not encrypted under its key.
// Method: test cases 4 and 16 of McGrew and Viega, "The Galois/Counter Mode of Operation (GCM)", appendix B; random
// messages, of which OpenSSL's own cipher makes one side; TLS between the two libraries.
#include "runtime/edge/tcp/gcm_provider.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>

#include "tcp_test_support.hpp"

namespace troupe::testing {
namespace {

using bytes = std::vector<std::uint8_t>;

bytes from_hex(std::string_view text) {
  bytes made;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    made.push_back(static_cast<std::uint8_t>(std::stoul(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return made;
}

struct message {
  bytes key;
  bytes iv;
  bytes associated;
  bytes content;
  bytes tag;
};

enum class maker : std::uint8_t { ours, openssl };

struct free_cipher {
  void operator()(EVP_CIPHER* one) const { EVP_CIPHER_free(one); }
  void operator()(EVP_CIPHER_CTX* one) const { EVP_CIPHER_CTX_free(one); }
};

std::unique_ptr<EVP_CIPHER, free_cipher> cipher_of(maker by, std::size_t key_bytes) {
  const char* const name = key_bytes == 16 ? "AES-128-GCM" : "AES-256-GCM";
  const bool is_ours = by == maker::ours;
  std::unique_ptr<EVP_CIPHER, free_cipher> found(
      EVP_CIPHER_fetch(is_ours ? gcm_library() : nullptr, name, is_ours ? gcm_properties : nullptr));
  if (found == nullptr) throw std::runtime_error("no such cipher");
  EXPECT_EQ(std::string(OSSL_PROVIDER_get0_name(EVP_CIPHER_get0_provider(found.get()))),
            is_ours ? "troupe" : "default");
  return found;
}

/// The content changes its form, `piece` bytes at a time. Nothing: refused.
std::optional<message> turned(maker by, bool encrypts, message what, std::size_t piece) {
  const auto cipher = cipher_of(by, what.key.size());
  const std::unique_ptr<EVP_CIPHER_CTX, free_cipher> context(EVP_CIPHER_CTX_new());
  EVP_CIPHER_CTX* const c = context.get();
  int size = 0;
  const auto length = [](std::size_t of) { return static_cast<int>(of); };
  bool fine = EVP_CipherInit_ex2(c, cipher.get(), what.key.data(), what.iv.data(), encrypts ? 1 : 0, nullptr) == 1;
  fine = fine && EVP_CipherUpdate(c, nullptr, &size, what.associated.data(), length(what.associated.size())) == 1;
  for (std::size_t at = 0; fine && at < what.content.size(); at += piece) {
    std::uint8_t* const place = what.content.data() + at;
    const int count = length(std::min(piece, what.content.size() - at));
    fine = EVP_CipherUpdate(c, place, &size, place, count) == 1 && size == count;
  }
  if (fine && !encrypts)
    fine = EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_SET_TAG, length(what.tag.size()), what.tag.data()) == 1;
  bytes rest(16);
  fine = fine && EVP_CipherFinal_ex(c, rest.data(), &size) == 1 && size == 0;
  what.tag.resize(16);
  if (fine && encrypts) fine = EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_AEAD_GET_TAG, 16, what.tag.data()) == 1;
  return fine ? std::optional(std::move(what)) : std::nullopt;
}

class gcm_provider : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gcm_library() == nullptr) GTEST_SKIP() << "the processor has no VAES: OpenSSL's own cipher is used";
  }
};

struct known_case {
  std::string_view key;
  std::string_view content;
  std::string_view tag;
};

TEST_F(gcm_provider, gives_the_published_answers) {
  const bytes plain = from_hex(
      "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657"
      "ba637b39");
  for (const auto& [key, content, tag] :
       {known_case{
            "feffe9928665731c6d6a8f9467308308",
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba3"
            "0b396a0aac973d58e091",
            "5bc94fbc3221a5db94fae95ae7121a47"},
        known_case{
            "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f6"
            "1e6393ba7a0abcc9f662",
            "76fc6ece0f4e1768cddf8853bb2d551b"}}) {
    const message asked{from_hex(key),
                        from_hex("cafebabefacedbaddecaf888"),
                        from_hex("feedfacedeadbeeffeedfacedeadbeefabaddad2"),
                        plain,
                        {}};
    const auto made = turned(maker::ours, true, asked, plain.size());
    ASSERT_TRUE(made);
    EXPECT_EQ(made->content, from_hex(content));
    EXPECT_EQ(made->tag, from_hex(tag));
  }
}

message drawn(std::mt19937_64& random, std::size_t key_bytes) {
  const auto fill = [&](std::size_t count) {
    bytes made(count);
    for (auto& each : made) each = static_cast<std::uint8_t>(random());
    return made;
  };
  return {fill(key_bytes), fill(12), fill(random() % 65), fill(random() % 20'000), {}};
}

TEST_F(gcm_provider, agrees_with_openssl_about_messages_of_any_size_in_any_pieces) {
  std::mt19937_64 random(20261128);
  for (int round = 0; round < 400; ++round) {
    const message plain = drawn(random, round % 2 == 0 ? 16 : 32);
    const std::size_t piece = 1 + random() % 20'000;
    const auto ours = turned(maker::ours, true, plain, piece);
    const auto theirs = turned(maker::openssl, true, plain, piece);
    ASSERT_TRUE(ours && theirs);
    ASSERT_EQ(ours->content, theirs->content);
    ASSERT_EQ(ours->tag, theirs->tag);
    const auto back = turned(maker::ours, false, *theirs, 1 + random() % 20'000);
    ASSERT_TRUE(back);
    ASSERT_EQ(back->content, plain.content);
  }
}

TEST_F(gcm_provider, refuses_what_was_changed) {
  std::mt19937_64 random(1);
  message plain = drawn(random, 32);
  plain.content.resize(1000);
  plain.associated.resize(5);
  const message sealed = turned(maker::openssl, true, plain, 1000).value();
  ASSERT_TRUE(turned(maker::ours, false, sealed, 1000));
  for (bytes message::*part : {&message::key, &message::iv, &message::associated, &message::content, &message::tag}) {
    for (std::size_t at = 0; at < (sealed.*part).size(); at += 7) {
      message changed = sealed;
      (changed.*part)[at] ^= 1;
      EXPECT_FALSE(turned(maker::ours, false, changed, 1000));
    }
  }
  message cut = sealed;
  cut.tag.resize(12);
  EXPECT_FALSE(turned(maker::ours, false, cut, 1000)) << "a tag is whole";
}

TEST_F(gcm_provider, encrypts_nothing_twice_under_one_iv) {
  std::mt19937_64 random(2);
  const message plain = drawn(random, 32);
  const auto cipher = cipher_of(maker::ours, 32);
  const std::unique_ptr<EVP_CIPHER_CTX, free_cipher> context(EVP_CIPHER_CTX_new());
  bytes out(32);
  int size = 0;
  ASSERT_EQ(EVP_EncryptInit_ex2(context.get(), cipher.get(), plain.key.data(), plain.iv.data(), nullptr), 1);
  ASSERT_EQ(EVP_EncryptUpdate(context.get(), out.data(), &size, out.data(), 16), 1);
  ASSERT_EQ(EVP_EncryptFinal_ex(context.get(), out.data(), &size), 1);
  EXPECT_EQ(EVP_EncryptUpdate(context.get(), out.data(), &size, out.data(), 16), 0);
  EXPECT_EQ(EVP_EncryptInit_ex2(context.get(), cipher.get(), plain.key.data(), nullptr, nullptr), 1);
  EXPECT_EQ(EVP_EncryptUpdate(context.get(), out.data(), &size, out.data(), 16), 0);
}

struct free_tls {
  void operator()(SSL_CTX* one) const { SSL_CTX_free(one); }
  void operator()(SSL* one) const { SSL_free(one); }
};

/// One end of a TLS connection in memory.
struct tls_side {
  tls_side(OSSL_LIB_CTX* library, const char* suite)
      : context(SSL_CTX_new_ex(library, gcm_properties, TLS_method())), ssl(nullptr) {
    SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
    EXPECT_EQ(SSL_CTX_set_ciphersuites(context.get(), suite), 1);
    const std::unique_ptr<BIO, decltype(&BIO_free)> certificate(
        BIO_new_mem_buf(run_credentials().certificate.data(), -1), BIO_free);
    const std::unique_ptr<X509, decltype(&X509_free)> own(
        PEM_read_bio_X509(certificate.get(), nullptr, nullptr, nullptr), X509_free);
    const std::unique_ptr<BIO, decltype(&BIO_free)> key(BIO_new_mem_buf(run_credentials().key.data(), -1), BIO_free);
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> own_key(
        PEM_read_bio_PrivateKey(key.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
    EXPECT_EQ(SSL_CTX_use_certificate(context.get(), own.get()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey(context.get(), own_key.get()), 1);
    ssl.reset(SSL_new(context.get()));
  }
  std::unique_ptr<SSL_CTX, free_tls> context;
  std::unique_ptr<SSL, free_tls> ssl;
};

TEST_F(gcm_provider, speaks_tls_with_openssl) {
  for (const char* suite : {"TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256"}) {
    for (const bool serves : {false, true}) {
      tls_side client(serves ? nullptr : gcm_library(), suite);
      tls_side server(serves ? gcm_library() : nullptr, suite);
      BIO* near = nullptr;
      BIO* far = nullptr;
      ASSERT_EQ(BIO_new_bio_pair(&near, 1 << 17, &far, 1 << 17), 1);
      SSL_set_bio(client.ssl.get(), near, near);
      SSL_set_bio(server.ssl.get(), far, far);
      SSL_set_connect_state(client.ssl.get());
      SSL_set_accept_state(server.ssl.get());
      for (int turn = 0; turn < 10; ++turn) {
        SSL_do_handshake(client.ssl.get());
        SSL_do_handshake(server.ssl.get());
      }
      ASSERT_EQ(SSL_get_cipher_name(client.ssl.get()), std::string_view(suite));
      const std::string said(100'000, 'x');
      std::string heard(said.size(), ' ');
      std::size_t count = 0;
      for (auto [from, to] : {std::pair{client.ssl.get(), server.ssl.get()}, {server.ssl.get(), client.ssl.get()}}) {
        ASSERT_EQ(SSL_write_ex(from, said.data(), said.size(), &count), 1);
        std::size_t got = 0;
        while (got < said.size() && SSL_read_ex(to, heard.data() + got, heard.size() - got, &count) == 1) got += count;
        EXPECT_EQ(heard, said);
      }
    }
  }
}

}  // namespace
}  // namespace troupe::testing
