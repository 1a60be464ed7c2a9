#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "messages/seeded_draw.hpp"
#include "runtime/random/philox.hpp"

namespace troupe {

/// What random numbers are drawn for (docs/decisions/0045). The same key gives the same numbers in every process, for
/// every cut and number of replicas, and when a pass is computed again; other keys give others.
struct random_key {
  std::uint64_t seed = 0;
  /// The layer by its position in the model, or another use by its name (number_of_name).
  std::uint64_t layer = 0;
  std::uint64_t step = 0;
  /// The sample by its index in the data set, or the micro-batch by its leaf.
  std::uint64_t sample = 0;
};

/// FNV-1a of a name, for random_key::layer.
constexpr std::uint64_t number_of_name(std::string_view name) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char each : name) hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
  return hash;
}

/// Random numbers of one key, each as a function of its position: there is no state. Steps and samples are part of the
/// counter, so that no two of them share numbers; seed and layer make the key.
class keyed_numbers {
 public:
  explicit constexpr keyed_numbers(const random_key& of) noexcept {
    seeded_draw mix(of.seed);
    mix = seeded_draw(mix.next() ^ of.layer);
    mix = seeded_draw(mix.next() ^ (of.step >> 32U));
    const std::uint64_t key = mix.next();
    key_ = {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32U)};
    counter_ = {0, static_cast<std::uint32_t>(of.step), static_cast<std::uint32_t>(of.sample),
                static_cast<std::uint32_t>(of.sample >> 32U)};
  }

  /// The bits with the positions 4 index to 4 index + 3. At most 2^32 blocks.
  [[nodiscard]] constexpr std::array<std::uint32_t, 4> block(std::uint32_t index) const noexcept {
    return philox({index, counter_[1], counter_[2], counter_[3]}, key_);
  }

 private:
  std::array<std::uint32_t, 4> counter_ = {};
  std::array<std::uint32_t, 2> key_ = {};
};

}  // namespace troupe
