#include "runtime/join/join_secret.hpp"

#include <algorithm>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rand.h>

namespace troupe {

expected<join_secret> join_secret::make() {
  join_secret made;
  if (RAND_priv_bytes(made.bytes_.data(), static_cast<int>(size)) == 1) return made;
  ERR_clear_error();
  return fail(error_code::process_failed, "secret of a join ticket", "OpenSSL gives no random bits",
              "Check the random numbers of the system");
}

join_secret::join_secret(std::span<const std::uint8_t, size> bytes) noexcept {
  std::ranges::copy(bytes, bytes_.begin());
}

join_secret::~join_secret() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

secret_text::secret_text(std::size_t capacity) : bytes_(capacity) {}

secret_text::~secret_text() {
  OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

bool secret_text::append(std::string_view text) noexcept {
  if (text.size() > bytes_.size() - used_) return false;
  std::ranges::copy(text, bytes_.begin() + static_cast<std::ptrdiff_t>(used_));
  used_ += text.size();
  return true;
}

std::span<const std::uint8_t> secret_text::bytes() const noexcept {
  return {reinterpret_cast<const std::uint8_t*>(bytes_.data()), used_};
}

}  // namespace troupe
