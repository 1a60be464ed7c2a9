#include "runtime/edge/tcp/gcm_cipher.hpp"

#include <algorithm>

#include <openssl/crypto.h>

namespace troupe {
namespace {

/// Null without VAES. Its functions keep no state in it.
const IMB_MGR* manager() noexcept {
  static const IMB_MGR* const made = []() -> const IMB_MGR* {
    IMB_MGR* of = alloc_mb_mgr(0);
    if (of == nullptr) return nullptr;
    init_mb_mgr_auto(of, nullptr);
    constexpr std::uint64_t needed = IMB_FEATURE_VAES | IMB_FEATURE_VPCLMULQDQ;
    if ((of->features & needed) == needed) return of;
    free_mb_mgr(of);
    return nullptr;
  }();
  return made;
}

}  // namespace

bool has_fast_gcm() noexcept {
  return manager() != nullptr;
}

const gcm_functions& gcm_128() noexcept {
  static const IMB_MGR& of = *manager();
  static const gcm_functions found{16,
                                   of.gcm128_pre,
                                   of.gcm128_init,
                                   of.gcm128_enc_update,
                                   of.gcm128_dec_update,
                                   of.gcm128_enc_finalize,
                                   of.gcm128_dec_finalize};
  return found;
}

const gcm_functions& gcm_256() noexcept {
  static const IMB_MGR& of = *manager();
  static const gcm_functions found{32,
                                   of.gcm256_pre,
                                   of.gcm256_init,
                                   of.gcm256_enc_update,
                                   of.gcm256_dec_update,
                                   of.gcm256_enc_finalize,
                                   of.gcm256_dec_finalize};
  return found;
}

gcm_cipher::~gcm_cipher() {
  OPENSSL_cleanse(&key_, sizeof(key_));
  OPENSSL_cleanse(&message_, sizeof(message_));
}

bool gcm_cipher::begin(bool encrypts, std::span<const std::uint8_t> key, std::span<const std::uint8_t> iv) noexcept {
  encrypts_ = encrypts;
  is_under_way_ = has_iv_ = has_tag_ = false;
  associated_size_ = 0;
  if (!key.empty()) {
    if (key.size() != by_.key_bytes) return false;
    by_.expand_key(key.data(), &key_);
    has_key_ = true;
  }
  if (!iv.empty()) {
    if (iv.size() != iv_.size()) return false;
    std::ranges::copy(iv, iv_.begin());
    has_iv_ = true;
  }
  return true;
}

bool gcm_cipher::start() noexcept {
  if (is_under_way_) return true;
  if (!has_key_ || !has_iv_) return false;
  by_.begin(&key_, &message_, iv_.data(), associated_.data(), associated_size_);
  has_iv_ = false;  // no IV serves twice
  return is_under_way_ = true;
}

bool gcm_cipher::add_associated(std::span<const std::uint8_t> bytes) noexcept {
  if (is_under_way_ || bytes.size() > associated_.size() - associated_size_) return false;
  std::ranges::copy(bytes, associated_.begin() + static_cast<std::ptrdiff_t>(associated_size_));
  associated_size_ += bytes.size();
  return true;
}

bool gcm_cipher::add(std::span<const std::uint8_t> bytes, std::uint8_t* into) noexcept {
  if (!start()) return false;
  (encrypts_ ? by_.encrypt : by_.decrypt)(&key_, &message_, into, bytes.data(), bytes.size());
  return true;
}

bool gcm_cipher::expect_tag(std::span<const std::uint8_t> tag) noexcept {
  if (encrypts_ || tag.size() != tag_.size()) return false;
  std::ranges::copy(tag, tag_.begin());
  return has_tag_ = true;
}

bool gcm_cipher::end() noexcept {
  if (!start()) return false;
  is_under_way_ = false;
  std::array<std::uint8_t, gcm_tag_bytes> made{};
  (encrypts_ ? by_.end_encryption : by_.end_decryption)(&key_, &message_, made.data(), made.size());
  if (!encrypts_) return has_tag_ && CRYPTO_memcmp(made.data(), tag_.data(), made.size()) == 0;
  tag_ = made;
  return has_tag_ = true;
}

std::span<const std::uint8_t> gcm_cipher::tag() const noexcept {
  return std::span(tag_).first(encrypts_ && has_tag_ ? tag_.size() : 0);
}

}  // namespace troupe
