#include "runtime/os/file_hash.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/check.hpp"
#include "runtime/os/input_file.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe {
namespace {

constexpr std::size_t block_bytes = 1U << 20;

std::string hexadecimal(const unsigned char* bytes, std::size_t count) {
  constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += digits[bytes[i] >> 4U];
    text += digits[bytes[i] & 15U];
  }
  return text;
}

}  // namespace

struct sha256::state {
  std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};
};

sha256::sha256() : state_(std::make_unique<state>()) {
  TROUPE_CHECK(state_->context != nullptr && EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1,
               "every OpenSSL has SHA-256");
}
sha256::~sha256() = default;

void sha256::add(const void* bytes, std::size_t count) {
  EVP_DigestUpdate(state_->context.get(), bytes, count);
}

std::string sha256::digest() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_DigestFinal_ex(state_->context.get(), digest.data(), &size);
  return hexadecimal(digest.data(), size);
}

expected<std::string> sha256_of_file(const std::string& path, error_code unreadable) {
  const auto refused = [&](int reason) {
    return fail(unreadable, path, std::string("cannot be read: ") + std::strerror(reason), "check the path");
  };
  // a FIFO without a writer would block a plain open for ever
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) return refused(errno);
  if (const std::string_view kind = kind_of_file(about.st_mode); !kind.empty())
    return fail(unreadable, path, "is " + std::string(kind) + ", not a regular file", "copy it to a file first");
  sha256 hash;
  std::vector<unsigned char> block(block_bytes);
  for (;;) {
    const ssize_t got = ::read(file.get(), block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused(errno);
    if (got == 0) break;
    hash.add(block.data(), static_cast<std::size_t>(got));
  }
  return hash.digest();
}

}  // namespace troupe
