#pragma once

#include <array>
#include <cstdint>
#include <string>

#include <troupe/error.hpp>

namespace troupe {

/// 128 random bits, known to the processes that were told.
class random_secret {
 public:
  using words_t = std::array<std::uint64_t, 2>;

  /// From the system's generator. E0614 if it has none.
  [[nodiscard]] static expected<random_secret> make();

  [[nodiscard]] std::string hex() const;
  [[nodiscard]] const words_t& words() const noexcept { return words_; }

 private:
  random_secret() = default;

  words_t words_{};
};

}  // namespace troupe
