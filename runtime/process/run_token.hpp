#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <troupe/messages/error.hpp>

namespace troupe {

/// 128 random bits that only the processes of one run know: whoever connects says them first.
class run_token {
 public:
  static constexpr std::size_t size = 16;

  /// From the system's generator. E0614 if it has none.
  [[nodiscard]] static expected<run_token> make();

  /// Exactly 32 hexadecimal digits in lower case; nothing for any other text.
  [[nodiscard]] static std::optional<run_token> parse(std::string_view hex);

  [[nodiscard]] std::string hex() const;
  [[nodiscard]] const std::array<std::uint8_t, size>& bytes() const noexcept { return bytes_; }

  /// Takes equally long whatever differs, so that nobody finds the token byte by byte.
  friend bool operator==(const run_token& a, const run_token& b) noexcept;

 private:
  run_token() = default;

  std::array<std::uint8_t, size> bytes_{};
};

}  // namespace troupe
