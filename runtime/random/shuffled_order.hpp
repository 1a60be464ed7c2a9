#pragma once

#include <cstdint>
#include <vector>

namespace troupe {

/// An order of the samples 0 to count - 1 that follows from seed and epoch alone. It is computed sample by sample, in
/// either direction and from any position on, and takes a few kilobytes whatever the count: a run that is resumed needs
/// no more than its position, and no process has to keep the order of a thousand million samples.
///
/// The rounds are those of "swap or not" by Hoang, Morris and Rogaway ("An enciphering scheme based on a card shuffle",
/// CRYPTO 2012): in each one the samples form pairs, and a random bit of a pair says whether its two change places.
/// There are 6 log2(count) rounds and 20 more.
class shuffled_order {
 public:
  /// `count` is at least 1.
  shuffled_order(std::uint64_t seed, std::uint64_t epoch, std::uint64_t count);

  /// The sample at a position below `count`.
  [[nodiscard]] std::uint64_t sample_at(std::uint64_t position) const noexcept;
  /// The inverse.
  [[nodiscard]] std::uint64_t position_of(std::uint64_t sample) const noexcept;

 private:
  struct round {
    std::uint64_t sum = 0;  ///< of the two samples of a pair, modulo count
    std::uint64_t key = 0;
  };

  [[nodiscard]] std::uint64_t swapped(const round& one, std::uint64_t sample) const noexcept;

  std::uint64_t count_;
  std::vector<round> rounds_;
};

}  // namespace troupe
