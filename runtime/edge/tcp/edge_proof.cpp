#include "runtime/edge/tcp/edge_proof.hpp"

#include <cstddef>
#include <span>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include "messages/check.hpp"

namespace troupe {
namespace {

/// Numbers in network order, each of a fixed size: no two transcripts are the same bytes.
template <std::size_t Capacity>
class fixed_bytes {
 public:
  void put(std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i)
      bytes_.at(used_++) = static_cast<std::uint8_t>(value >> (8 * (size - 1 - i)));
  }
  void put(std::span<const std::uint64_t> words) {
    for (const std::uint64_t word : words) put(word, 8);
  }
  [[nodiscard]] const std::uint8_t* data() const noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return used_; }

 private:
  std::array<std::uint8_t, Capacity> bytes_{};
  std::size_t used_ = 0;
};

}  // namespace

expected<edge_nonce> make_nonce() {
  edge_nonce made{};
  if (::RAND_bytes(reinterpret_cast<unsigned char*>(made.data()), sizeof(made)) == 1) return made;
  return fail(error_code::process_failed, "handshake of an edge", "OpenSSL gives no random bits");
}

edge_proof prove(proof_of which, const edge_transcript& said) noexcept {
  fixed_bytes<16> key;
  key.put(said.key.run);
  fixed_bytes<64> text;
  text.put(static_cast<std::uint8_t>(which), 1);
  for (const std::uint32_t number : {said.key.edge, said.key.epoch, said.key.incarnation, said.slots}) {
    text.put(number, 4);
  }
  text.put(said.caller);
  text.put(said.listener);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const bool is_made = ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), text.data(), text.size(),
                              digest.data(), &size) != nullptr;
  TROUPE_CHECK(is_made && size == sizeof(edge_proof), "OpenSSL has HMAC-SHA256");
  edge_proof proof{};
  for (std::size_t i = 0; i < size; ++i) proof.at(i / 8) = proof.at(i / 8) << 8u | digest.at(i);
  return proof;
}

bool same_proof(const edge_proof& left, const edge_proof& right) noexcept {
  return ::CRYPTO_memcmp(left.data(), right.data(), sizeof(edge_proof)) == 0;
}

}  // namespace troupe
