#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <intel-ipsec-mb.h>

namespace troupe {

inline constexpr std::size_t gcm_iv_bytes = 12;
inline constexpr std::size_t gcm_tag_bytes = 16;
/// TLS 1.3 has the five bytes of a record's head.
inline constexpr std::size_t gcm_associated_bytes_max = 64;

/// ipsec-mb's AES-GCM for keys of one size.
struct gcm_functions {
  std::size_t key_bytes;
  aes_gcm_pre_t expand_key;
  aes_gcm_init_t begin;
  aes_gcm_enc_dec_update_t encrypt;
  aes_gcm_enc_dec_update_t decrypt;
  aes_gcm_enc_dec_finalize_t end_encryption;
  aes_gcm_enc_dec_finalize_t end_decryption;
};

/// Whether the processor has VAES, without which OpenSSL is as fast. The functions below are there only then.
[[nodiscard]] bool has_fast_gcm() noexcept;
[[nodiscard]] const gcm_functions& gcm_128() noexcept;
[[nodiscard]] const gcm_functions& gcm_256() noexcept;

/// AES-GCM (NIST SP 800-38D) under one key: one message after another, each begun by its IV. What does not fit is
/// refused, and the message with it. Nothing of a key or message stays in memory. Threads: one at a time.
class gcm_cipher {
 public:
  explicit gcm_cipher(const gcm_functions& by) noexcept : by_(by) {}
  gcm_cipher(const gcm_cipher&) = delete;
  gcm_cipher& operator=(const gcm_cipher&) = delete;
  ~gcm_cipher();

  /// The next message. An empty key: the one before. An empty IV: another begin() follows, with one.
  [[nodiscard]] bool begin(bool encrypts, std::span<const std::uint8_t> key, std::span<const std::uint8_t> iv) noexcept;
  /// Bytes that are protected and not encrypted: before all others.
  [[nodiscard]] bool add_associated(std::span<const std::uint8_t> bytes) noexcept;
  /// `into` has as many bytes, and may be the same. Decrypted bytes are not to be trusted before end().
  [[nodiscard]] bool add(std::span<const std::uint8_t> bytes, std::uint8_t* into) noexcept;
  /// The tag of a message to be decrypted, gcm_tag_bytes, before end().
  [[nodiscard]] bool expect_tag(std::span<const std::uint8_t> tag) noexcept;
  /// False for a message that was not encrypted under this key, IV and associated data.
  [[nodiscard]] bool end() noexcept;

  /// The tag of the message that was encrypted; empty before.
  [[nodiscard]] std::span<const std::uint8_t> tag() const noexcept;
  [[nodiscard]] std::size_t key_bytes() const noexcept { return by_.key_bytes; }

 private:
  bool start() noexcept;

  /// As ipsec-mb declares its keys, where its header sees that it is on Linux.
  alignas(64) gcm_key_data key_{};
  gcm_context_data message_{};
  const gcm_functions& by_;
  std::array<std::uint8_t, gcm_iv_bytes> iv_{};
  std::array<std::uint8_t, gcm_associated_bytes_max> associated_{};
  std::array<std::uint8_t, gcm_tag_bytes> tag_{};
  std::size_t associated_size_ = 0;
  bool encrypts_ = false;
  bool is_under_way_ = false;
  bool has_key_ = false;
  bool has_iv_ = false;
  bool has_tag_ = false;
};

}  // namespace troupe
