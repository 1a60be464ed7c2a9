// Goal: payloads carry a checksum where nothing else covers them, unless the option says otherwise. Method: a consumer
// of the test's own, over the bare socket or under TLS, which reads the frame that a producer sent.
#include <thread>

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "runtime/edge/tcp/handshake.hpp"
#include "runtime/os/crc32c.hpp"
#include "tcp_test_support.hpp"

namespace troupe::testing {
namespace {

struct free_ssl {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(BIO* text) const { BIO_free(text); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <class T>
using held = std::unique_ptr<T, free_ssl>;

held<BIO> as_bio(const std::string& text) {
  return held<BIO>(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// The listening side of one connection, with TLS or without.
class listening_peer {
 public:
  listening_peer(const listening_socket& listener, bool with_tls) : client_(listener.accept()) {
    if (!with_tls) return;
    const auto& own = run_credentials();
    const held<X509> certificate(PEM_read_bio_X509(as_bio(own.certificate).get(), nullptr, nullptr, nullptr));
    const held<EVP_PKEY> key(PEM_read_bio_PrivateKey(as_bio(own.key).get(), nullptr, nullptr, nullptr));
    context_.reset(SSL_CTX_new(TLS_server_method()));
    SSL_CTX_use_certificate(context_.get(), certificate.get());
    SSL_CTX_use_PrivateKey(context_.get(), key.get());
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), client_.fd());
    EXPECT_EQ(SSL_accept(ssl_.get()), 1);
  }

  void say(const frame& value) const {
    const auto head = encode_head(value);
    const auto text = head.view();
    if (ssl_ == nullptr) return (void)client_.send(text);
    EXPECT_GT(SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())), 0);
  }
  /// The next frame; what follows its head goes to `payload`.
  [[nodiscard]] frame hear(std::vector<std::byte>& payload) const {
    auto text = hear(frame_prelude_bytes);
    const auto prelude = decode_prelude(text).value();
    const auto header = hear(prelude.header_bytes);
    text.insert(text.end(), header.begin(), header.end());
    payload = hear(prelude.payload_bytes);
    return decode_head(text, prelude).value();
  }

 private:
  [[nodiscard]] std::vector<std::byte> hear(std::size_t count) const {
    std::vector<std::byte> text(count);
    for (std::span<std::byte> rest = text; !rest.empty();) {
      const int got = ssl_ ? SSL_read(ssl_.get(), rest.data(), static_cast<int>(rest.size()))
                           : static_cast<int>(client_.receive(rest));
      if (got <= 0) throw std::runtime_error("the connection ended within a frame");
      rest = rest.subspan(static_cast<std::size_t>(got));
    }
    return text;
  }

  const raw_client client_;
  held<SSL_CTX> context_;
  held<SSL> ssl_;
};

/// Whether the frame of a message sent under these options has a checksum, which is then the right one.
bool sends_crc(bool with_tls, std::optional<bool> option) {
  const listening_socket listener;
  bool has_crc = false;
  std::thread peer([&] {
    const listening_peer consumer(listener, with_tls);
    std::vector<std::byte> payload;
    auto said = transcript_of(std::get<hello_frame>(consumer.hear(payload)), test_token);
    said.listener = {1, 2};
    consumer.say(challenge_frame{said.listener, prove(proof_of::listener, said)});
    EXPECT_TRUE(std::holds_alternative<proof_frame>(consumer.hear(payload)));
    consumer.say(welcome_frame{2});
    const auto sent = std::get<activation_frame>(consumer.hear(payload));
    EXPECT_GE(payload.size(), 5008u);
    has_crc = sent.has_checksum;
    if (!has_crc) return;
    const std::span<const std::byte> all(payload);
    EXPECT_EQ(read_checksum(all.last<payload_checksum_bytes>()),
              crc32c(all.first(all.size() - payload_checksum_bytes)));
  });
  tcp_endpoint_options options = test_options(with_tls);
  options.payload_crc = option;
  const auto endpoint = must_open(std::move(options));
  const auto producer = endpoint->connect("127.0.0.1", listener.port(), key_of(1), {{2, nullptr, nullptr, 1}, {}});
  EXPECT_TRUE(producer) << to_string(producer.error());
  activation message{{0, 1}, {0, 1}, std::make_shared<number_payload>(1, 5000), nullptr, nullptr};
  EXPECT_EQ((*producer)->try_send(message), send_status::sent);
  peer.join();
  return has_crc;
}

TEST(tcp_payload_crc, is_sent_without_tls_alone) {
  EXPECT_TRUE(sends_crc(false, std::nullopt));
  EXPECT_FALSE(sends_crc(true, std::nullopt));
}

TEST(tcp_payload_crc, follows_the_option_with_tls_and_without) {
  for (const bool with_tls : {false, true}) {
    EXPECT_TRUE(sends_crc(with_tls, true));
    EXPECT_FALSE(sends_crc(with_tls, false));
  }
}

}  // namespace
}  // namespace troupe::testing
