#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include <troupe/error.hpp>

namespace troupe {

/// 128 random bits that only the processes of one run know: the secret of its tcp edges.
class run_token {
 public:
  static constexpr std::size_t size = 16;

  /// From the system's generator. E0614 if it has none.
  [[nodiscard]] static expected<run_token> make();

  [[nodiscard]] std::string hex() const;
  [[nodiscard]] const std::array<std::uint8_t, size>& bytes() const noexcept { return bytes_; }

 private:
  run_token() = default;

  std::array<std::uint8_t, size> bytes_{};
};

}  // namespace troupe
