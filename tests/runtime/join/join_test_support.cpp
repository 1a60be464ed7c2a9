#include "tests/runtime/join/join_test_support.hpp"

#include <cstdlib>
#include <fstream>
#include <utility>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "messages/check.hpp"

namespace troupe::testing {
namespace {

using context_pointer = std::unique_ptr<SSL_CTX, openssl::freed_with<SSL_CTX_free>>;
using ssl_pointer = std::unique_ptr<SSL, openssl::freed_with<SSL_free>>;

openssl::bio_pointer reading(std::string_view text) {
  return openssl::bio_pointer(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

context_pointer context_of(const tls_credentials& of, std::time_t at) {
  context_pointer context(SSL_CTX_new(TLS_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  const openssl::key_pointer key = private_key_of(of.key);
  const openssl::bio_pointer chain = reading(of.certificate);
  const openssl::certificate_pointer own(PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr));
  TROUPE_CHECK(SSL_CTX_use_certificate(context.get(), own.get()) == 1, "a certificate");
  while (X509* const link = PEM_read_bio_X509(chain.get(), nullptr, nullptr, nullptr))
    SSL_CTX_add0_chain_cert(context.get(), link);
  TROUPE_CHECK(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1, "its key");
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), certificate_of(of.ca).get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  if (at != 0) X509_VERIFY_PARAM_set_time(SSL_CTX_get0_param(context.get()), at);
  return context;
}

std::string peer_of(SSL* end) {
  const auto name = peer_name_of(SSL_get0_peer_certificate(end));
  return name ? name->uri() : name.error().cause;
}

void add_asked_extension(X509_REQ* request, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, nullptr, nullptr, request, nullptr, 0);
  STACK_OF(X509_EXTENSION)* const all = sk_X509_EXTENSION_new_null();
  sk_X509_EXTENSION_push(all, X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  TROUPE_CHECK(X509_REQ_add_extensions(request, all) == 1, "an extension to ask for");
  sk_X509_EXTENSION_pop_free(all, X509_EXTENSION_free);
}

}  // namespace

openssl::key_pointer rsa_key(unsigned bits) {
  return openssl::key_pointer(EVP_RSA_gen(bits));
}

openssl::key_pointer ec_key(const char* curve) {
  return openssl::key_pointer(EVP_EC_gen(curve));
}

std::string pem_of(const odd_request& asked) {
  const openssl::request_pointer request(X509_REQ_new());
  X509_REQ_set_pubkey(request.get(), asked.key);
  if (!asked.subject.empty()) {
    X509_NAME_add_entry_by_txt(X509_REQ_get_subject_name(request.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(asked.subject.c_str()), -1, -1, 0);
  }
  if (asked.extension != 0) add_asked_extension(request.get(), asked.extension, asked.value);
  TROUPE_CHECK(X509_REQ_sign(request.get(), asked.signer != nullptr ? asked.signer : asked.key, asked.digest) > 0,
               "a signed request");
  return *openssl::to_pem(request.get());
}

tls_credentials joined(const job_authority& authority, const std::string& node) {
  const auto identity = node_identity::make();
  const auto certificate = authority.issue(*identity->request(), node);
  TROUPE_CHECK(certificate.has_value(), "an honest node is issued a certificate");
  return *identity->credentials(*certificate, authority.certificate(), *peer_name::of_node(node));
}

std::string certificate_named(const std::string& names, bool is_authority) {
  const openssl::key_pointer key = openssl::make_key();
  const openssl::certificate_pointer made(X509_new());
  X509_set_version(made.get(), X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 1000);
  X509_set_pubkey(made.get(), key.get());
  const auto add = [&](int nid, const std::string& value) {
    const openssl::extension_pointer extension(X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str()));
    TROUPE_CHECK(extension != nullptr && X509_add_ext(made.get(), extension.get(), -1) == 1, "an extension");
  };
  if (is_authority) add(NID_basic_constraints, "CA:TRUE");
  // ';' begins a second extension.
  for (std::size_t at = 0; at < names.size();
       at = names.find(';', at) == std::string::npos ? names.size() : names.find(';', at) + 1)
    add(NID_subject_alt_name, names.substr(at, names.find(';', at) - at));
  X509_sign(made.get(), key.get(), EVP_sha256());
  return *openssl::to_pem(made.get());
}

openssl::certificate_pointer certificate_of(std::string_view pem) {
  return openssl::certificate_pointer(PEM_read_bio_X509(reading(pem).get(), nullptr, nullptr, nullptr));
}

openssl::key_pointer private_key_of(std::string_view pem) {
  return openssl::key_pointer(PEM_read_bio_PrivateKey(reading(pem).get(), nullptr, nullptr, nullptr));
}

handshake_result shake_hands(const tls_credentials& as_client, const tls_credentials& as_server, std::time_t at) {
  const context_pointer client_context = context_of(as_client, at);
  const context_pointer server_context = context_of(as_server, at);
  const ssl_pointer client(SSL_new(client_context.get()));
  const ssl_pointer server(SSL_new(server_context.get()));
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
  const bool both = passes(client.get(), server.get()) && passes(server.get(), client.get());
  ERR_clear_error();
  return {both, peer_of(client.get()), peer_of(server.get())};
}

scratch_directory::scratch_directory() {
  std::string name = (std::filesystem::temp_directory_path() / "troupe-join-XXXXXX").string();
  TROUPE_CHECK(::mkdtemp(name.data()) != nullptr, "a directory for a test");
  path_ = name;
}

scratch_directory::~scratch_directory() {
  std::filesystem::remove_all(path_);
}

std::string scratch_directory::file(std::string_view name, std::string_view content) const {
  const std::filesystem::path path = *this / name;
  std::ofstream(path) << content;
  return path.string();
}

}  // namespace troupe::testing
