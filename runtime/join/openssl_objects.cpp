#include "runtime/join/openssl_objects.hpp"

#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>

#include "messages/limits.hpp"

namespace troupe::openssl {
namespace {

constexpr std::string_view base64_text = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n";
constexpr std::string_view white_space = " \t\r\n";

bool is_one_block(std::string_view pem, const std::string& label) {
  const std::string begin = "-----BEGIN " + label + "-----";
  const std::string end = "-----END " + label + "-----";
  pem = pem.substr(0, pem.find_last_not_of(white_space) + 1);
  if (pem.size() < begin.size() + end.size() || !pem.starts_with(begin) || !pem.ends_with(end)) return false;
  const std::string_view body = pem.substr(begin.size(), pem.size() - begin.size() - end.size());
  return body.find_first_not_of(base64_text) == std::string_view::npos;
}

bio_pointer reading(std::string_view text) {
  return bio_pointer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

/// OpenSSL's own would ask at the terminal.
int no_password(char*, int, int, void*) {
  return -1;
}

template <class Write>
expected<std::string> written(Write write) {
  const bio_pointer memory(BIO_new(BIO_s_secmem()));
  if (memory == nullptr || write(memory.get()) != 1) return failed("writing PEM");
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return std::string(text, static_cast<std::size_t>(size));
}

}  // namespace

tl::unexpected<error> failed(const char* what) {
  std::string cause = std::string(what) + " failed";
  if (const char* reason = ERR_reason_error_string(ERR_get_error()); reason != nullptr)
    cause += std::string(": ") + reason;
  ERR_clear_error();
  return fail(error_code::internal, "credentials of the job", std::move(cause), "check the installation of OpenSSL 3");
}

key_pointer make_key() {
  return key_pointer(EVP_EC_gen("P-256"));
}

certificate_pointer read_certificate(std::string_view pem) {
  if (pem.size() > limits::join_certificate_bytes_max || !is_one_block(pem, "CERTIFICATE")) return nullptr;
  certificate_pointer read(PEM_read_bio_X509(reading(pem).get(), nullptr, no_password, nullptr));
  ERR_clear_error();
  return read;
}

request_pointer read_request(std::string_view pem) {
  if (pem.size() > limits::join_request_bytes_max || !is_one_block(pem, "CERTIFICATE REQUEST")) return nullptr;
  request_pointer read(PEM_read_bio_X509_REQ(reading(pem).get(), nullptr, no_password, nullptr));
  ERR_clear_error();
  return read;
}

expected<std::string> to_pem(X509* certificate) {
  return written([&](BIO* out) { return PEM_write_bio_X509(out, certificate); });
}

expected<std::string> to_pem(X509_REQ* request) {
  return written([&](BIO* out) { return PEM_write_bio_X509_REQ(out, request); });
}

expected<std::string> to_pem(EVP_PKEY* private_key) {
  return written(
      [&](BIO* out) { return PEM_write_bio_PrivateKey(out, private_key, nullptr, nullptr, 0, nullptr, nullptr); });
}

}  // namespace troupe::openssl
