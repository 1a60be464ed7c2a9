#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <troupe/error.hpp>

namespace troupe {

/// The one-time secret of a join ticket: 256 random bits. Every object, copies included, erases its bytes at its end.
class join_secret {
 public:
  static constexpr std::size_t size = 32;

  /// From OpenSSL's generator for private values. E0614 if it has no random bits.
  [[nodiscard]] static expected<join_secret> make();
  /// A secret that came over a wire.
  explicit join_secret(std::span<const std::uint8_t, size> bytes) noexcept;
  join_secret(const join_secret&) = default;
  join_secret& operator=(const join_secret&) = default;
  ~join_secret();

  [[nodiscard]] std::span<const std::uint8_t, size> bytes() const noexcept { return bytes_; }

 private:
  join_secret() = default;

  std::array<std::uint8_t, size> bytes_{};
};

/// Bytes that contain a secret, such as the text of a ticket: at most `capacity` of them, never moved in memory, and
/// erased at the end of the object.
class secret_text {
 public:
  explicit secret_text(std::size_t capacity);
  secret_text(secret_text&& other) noexcept : bytes_(std::move(other.bytes_)), used_(std::exchange(other.used_, 0)) {}
  secret_text& operator=(secret_text&&) = delete;
  ~secret_text();

  /// False, without an effect, if the capacity does not suffice.
  [[nodiscard]] bool append(std::string_view text) noexcept;
  [[nodiscard]] bool append(char c) noexcept { return append(std::string_view(&c, 1)); }
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), used_}; }
  [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept;

 private:
  std::vector<char> bytes_;
  std::size_t used_ = 0;
};

}  // namespace troupe
