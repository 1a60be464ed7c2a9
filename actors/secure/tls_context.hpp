#pragma once

#include <memory>
#include <string>

#include <troupe/actors/secure/secure_config.hpp>
#include <troupe/messages/error.hpp>

struct ssl_ctx_st;

namespace troupe {

/// What all connections of one door, or one attempt to connect, have in common: TLS 1.3 alone, this process's
/// certificate, and that a peer shows one of the same authority. No session is kept, no ticket given. Copies share.
class tls_context {
 public:
  /// Reads the files. E0707 with the file and OpenSSL's reason.
  [[nodiscard]] static expected<tls_context> make(const secure_identity& identity);

  [[nodiscard]] ssl_ctx_st* get() const noexcept { return context_.get(); }

 private:
  explicit tls_context(std::shared_ptr<ssl_ctx_st> context) : context_(std::move(context)) {}

  std::shared_ptr<ssl_ctx_st> context_;
};

/// What OpenSSL has queued for this thread, emptied: "certificate verify failed", "no such file"...
[[nodiscard]] std::string take_tls_errors();

}  // namespace troupe
