// Goal: only certificates of the run's authority get in, from either side, and only with TLS 1.3. Method: endpoints and
// clients with other certificates, with none, and without TLS.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "tcp_test_support.hpp"

namespace troupe::testing {
namespace {

class tcp_tls : public ::testing::Test {
 protected:
  tcp_tls() { endpoint = must_open(options_with(run_credentials())); }
  tcp_endpoint_options options_with(std::optional<tls_credentials> tls) {
    tcp_endpoint_options options = test_options();
    options.tls = std::move(tls);
    options.handshake_timeout = 500ms;
    options.on_refused = refused.put();
    return options;
  }
  /// A client with these credentials is refused, and the edge stays free for the right one.
  void expect_refused(std::optional<tls_credentials> tls) {
    const auto consumer = endpoint->accept(key_of(1), {{}, lost.put()});
    ASSERT_TRUE(consumer);
    const auto other = must_open(options_with(std::move(tls)));
    const auto got = other->connect("127.0.0.1", endpoint->port(), key_of(1), {});
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, error_code::wire_handshake) << to_string(got.error());
    EXPECT_TRUE(refused.take());
    EXPECT_TRUE(endpoint->connect("127.0.0.1", endpoint->port(), key_of(1), {}));
    EXPECT_EQ(lost.count(), 0u);
  }

  error_box refused;
  error_box lost;
  std::unique_ptr<tcp_endpoint> endpoint;
};

TEST_F(tcp_tls, a_certificate_of_another_authority_is_refused) {
  expect_refused(test_authority().issue());
}

TEST_F(tcp_tls, a_forged_certificate_is_refused_though_the_client_trusts_the_right_authority) {
  tls_credentials forged = test_authority().issue();
  forged.ca = run_credentials().ca;
  expect_refused(forged);
}

TEST_F(tcp_tls, who_does_not_speak_tls_is_refused) {
  expect_refused(std::nullopt);
}

TEST_F(tcp_tls, a_client_refuses_a_server_of_another_authority) {
  const auto other = must_open(options_with(test_authority().issue()));
  const auto consumer = other->accept(key_of(1), {});
  ASSERT_TRUE(consumer);
  const auto got = endpoint->connect("127.0.0.1", other->port(), key_of(1), {});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::wire_handshake);
}

/// What a client of OpenSSL alone reads after its handshake: nothing, if the server let it in and waits for a hello.
bool is_let_in(std::uint16_t port, int version, bool with_certificate) {
  const raw_client client(port);
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_min_proto_version(context, version);
  SSL_CTX_set_max_proto_version(context, version);
  if (with_certificate) {
    const auto& own = run_credentials();
    BIO* text = BIO_new_mem_buf(own.certificate.data(), static_cast<int>(own.certificate.size()));
    X509* certificate = PEM_read_bio_X509(text, nullptr, nullptr, nullptr);
    SSL_CTX_use_certificate(context, certificate);
    X509_free(certificate);
    BIO_free(text);
    text = BIO_new_mem_buf(own.key.data(), static_cast<int>(own.key.size()));
    EVP_PKEY* key = PEM_read_bio_PrivateKey(text, nullptr, nullptr, nullptr);
    SSL_CTX_use_PrivateKey(context, key);
    EVP_PKEY_free(key);
    BIO_free(text);
  }
  SSL* ssl = SSL_new(context);
  SSL_set_fd(ssl, client.fd());
  bool let_in = SSL_connect(ssl) == 1;
  char byte = 0;
  // A server that refuses says so in an alert; one that lets in closes without a word at its deadline.
  if (let_in) {
    const int read = SSL_read(ssl, &byte, 1);
    let_in = read <= 0 && SSL_get_error(ssl, read) != SSL_ERROR_SSL;
  }
  SSL_free(ssl);
  SSL_CTX_free(context);
  return let_in;
}

TEST_F(tcp_tls, no_certificate_is_refused) {
  EXPECT_FALSE(is_let_in(endpoint->port(), TLS1_3_VERSION, false));
  const auto told = refused.take();
  ASSERT_TRUE(told);
  EXPECT_THAT(told->cause, ::testing::HasSubstr("TLS handshake"));
}

TEST_F(tcp_tls, an_older_version_is_refused) {
  EXPECT_FALSE(is_let_in(endpoint->port(), TLS1_2_VERSION, true));
  const auto told = refused.take();
  ASSERT_TRUE(told);
  EXPECT_THAT(told->cause, ::testing::HasSubstr("TLS handshake"));
}

TEST_F(tcp_tls, a_right_certificate_alone_gets_as_far_as_the_hello) {
  (void)is_let_in(endpoint->port(), TLS1_3_VERSION, true);
  const auto told = refused.take();
  ASSERT_TRUE(told);
  EXPECT_THAT(told->cause, ::testing::HasSubstr("no handshake within"));
}

TEST_F(tcp_tls, unusable_credentials_are_an_error_of_open) {
  const tls_credentials right = run_credentials();
  for (const tls_credentials& wrong : {tls_credentials{"", right.key, right.ca},
                                       {right.certificate, "x", right.ca},
                                       {right.certificate, test_authority().issue().key, right.ca},
                                       {right.certificate, right.key, "not a certificate"}}) {
    const auto got = tcp_endpoint::open(options_with(wrong));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, error_code::config_bad_value);
  }
}

TEST_F(tcp_tls, stopping_delivers_what_was_sent_if_the_peer_takes_it) {
  const auto consumer = endpoint->accept(key_of(1), {{8, nullptr, nullptr, 1}, lost.put()});
  const auto sender = must_open(options_with(run_credentials()));
  auto producer = sender->connect("127.0.0.1", endpoint->port(), key_of(1), {{8, nullptr, nullptr, 1}, {}});
  ASSERT_TRUE(producer);
  for (std::uint64_t index = 0; index < 8; ++index) {
    activation next{{0, index}, {0, 1}, std::make_shared<number_payload>(index, 1 << 20), nullptr, nullptr};
    ASSERT_EQ((*producer)->try_send(next), send_status::sent);
  }
  (*producer)->close();
  std::thread stopping([&] { sender->stop(20s); });
  for (int left = 8; left > 0; --left) {
    EXPECT_TRUE(eventually([&] { return (*consumer)->try_receive().has_value(); }));
  }
  EXPECT_TRUE(eventually([&] { return (*consumer)->exhausted(); }));
  (*consumer)->close();
  stopping.join();
  EXPECT_EQ((*producer)->credits(), 0u) << "silent";
  EXPECT_EQ(lost.count(), 0u);
}

TEST_F(tcp_tls, stopping_keeps_its_deadline) {
  const auto consumer = endpoint->accept(key_of(1), {{8, nullptr, nullptr, 1}, lost.put()});
  const auto sender = must_open(options_with(run_credentials()));
  auto producer = sender->connect("127.0.0.1", endpoint->port(), key_of(1), {{8, nullptr, nullptr, 1}, {}});
  ASSERT_TRUE(producer);
  (*producer)->close();
  sender->stop(20ms);
  sender->stop();
  EXPECT_EQ(sender->connections(), 0u);
}

}  // namespace
}  // namespace troupe::testing
