#include <algorithm>
#include <csignal>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>

#include <troupe/tests/actors/secure/raw_client.hpp>

namespace troupe::testing {
namespace {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

bool can_read(int fd, clock::time_point deadline) {
  pollfd polled{fd, POLLIN, 0};
  const auto left = std::chrono::ceil<milliseconds>(deadline - clock::now()).count();
  return ::poll(&polled, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) > 0;
}

BIO* reading(const std::string& text) {
  return BIO_new_mem_buf(text.data(), static_cast<int>(text.size()));
}

X509* certificate_of(const std::string& pem) {
  BIO* bio = reading(pem);
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  return certificate;
}

void show(SSL_CTX* context, const pem_identity& member) {
  if (member.certificate.empty()) return;
  X509* certificate = certificate_of(member.certificate);
  BIO* bio = reading(member.key);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  EXPECT_EQ(SSL_CTX_use_certificate(context, certificate), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey(context, key), 1);
  EVP_PKEY_free(key);
  BIO_free(bio);
  X509_free(certificate);
}

template <class Write>
std::string pem_of(Write write) {
  BIO* bio = BIO_new(BIO_s_mem());
  EXPECT_EQ(write(bio), 1);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  std::string text(bytes, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

void append(std::string& bytes, std::uint64_t value, int size) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
}

}  // namespace

raw_connection::raw_connection() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  EXPECT_GE(fd(), 0);
}

void raw_connection::connect(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
}

void raw_connection::say(const std::string& bytes) {
  // The other end may have closed already.
  static_cast<void>(::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

std::string raw_connection::hear_all(milliseconds at_most) {
  std::string heard;
  char bytes[4096];
  const auto deadline = clock::now() + at_most;
  while (can_read(fd(), deadline)) {
    const auto got = ::recv(fd(), bytes, sizeof(bytes), 0);
    if (got <= 0) break;
    heard.append(bytes, static_cast<std::size_t>(got));
  }
  return heard;
}

bool raw_connection::is_closed_within(milliseconds at_most) {
  const auto deadline = clock::now() + at_most;
  char bytes[4096];
  while (can_read(fd(), deadline)) {
    if (::recv(fd(), bytes, sizeof(bytes), 0) <= 0) return true;
  }
  return false;
}

tls_visitor::tls_visitor(std::uint16_t port, const visitor& who)
    : connection_(port), context_(SSL_CTX_new(TLS_method())) {
  SSL_CTX_set_security_level(context_.get(), 0);  // OpenSSL offers no TLS below 1.2 otherwise
  SSL_CTX_set_min_proto_version(context_.get(), who.tls_version);
  SSL_CTX_set_max_proto_version(context_.get(), who.tls_version);
  show(context_.get(), who.member);
  if (!who.ca.empty()) {
    X509* ca = certificate_of(who.ca);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), ca);
    X509_free(ca);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  }
  session_.reset(SSL_new(context_.get()));
  const timeval at_most{5, 0};
  ::setsockopt(connection_.fd(), SOL_SOCKET, SO_RCVTIMEO, &at_most, sizeof(at_most));
  SSL_set_fd(session_.get(), connection_.fd());
}

bool tls_visitor::is_welcome() {
  char byte = 0;
  const bool is_in = SSL_connect(session_.get()) == 1 && SSL_read(session_.get(), &byte, 1) == 1;
  ERR_clear_error();
  return is_in;
}

// OpenSSL's own sockets raise SIGPIPE when the other end has closed.
void tls_visitor::say(const std::string& bytes) {
  sigset_t pipe;
  sigset_t before;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size()));
  ERR_clear_error();
  const timespec at_once{};
  ::sigtimedwait(&pipe, nullptr, &at_once);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool tls_visitor::is_closed_within(milliseconds at_most) {
  return connection_.is_closed_within(at_most);
}

std::string basp_header(std::uint8_t operation, std::uint32_t payload_size, std::uint64_t data, std::uint64_t source,
                        std::uint64_t destination) {
  std::string bytes{static_cast<char>(operation), 0, 0, 0};
  append(bytes, payload_size, 4);
  for (const std::uint64_t value : {data, source, destination}) append(bytes, value, 8);
  return bytes;
}

std::string crashing_header() {
  return basp_header(1, 0, 0, 0, 0);
}

std::string greedy_header() {
  return basp_header(2, 0xF000'0000, 0, 1, 1);
}

pem_identity self_signed() {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto* text = reinterpret_cast<const unsigned char*>("troupe worker");
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
  X509_set_issuer_name(certificate, name);
  X509_sign(certificate, key, EVP_sha256());
  pem_identity made;
  made.certificate = pem_of([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
  made.key =
      pem_of([&](BIO* bio) { return PEM_write_bio_PKCS8PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr); });
  X509_free(certificate);
  EVP_PKEY_free(key);
  return made;
}

}  // namespace troupe::testing
