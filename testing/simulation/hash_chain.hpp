#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "messages/payload.hpp"
#include "runtime/edge/payload_codec.hpp"
#include "runtime/flow/stage_body.hpp"

/// What simulated runs compute with in place of tensors: a number per sample, in which every mistake shows
/// (plain_evaluation.hpp says which).
namespace troupe::simulation {

[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b + 0x7f4a7c15;
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 29);
}

[[nodiscard]] constexpr std::uint64_t input_value(std::uint64_t call, std::uint64_t index) noexcept {
  return mix(call + 1, index + 1);
}

/// Samples of a micro-batch; they differ, so that a swap of two shows in the sums, too.
inline constexpr std::size_t samples_max = 3;
[[nodiscard]] constexpr std::uint64_t samples_of(std::uint64_t index) noexcept {
  return 1 + index % samples_max;
}
/// The number of the micro-batch's first sample. Numbers are left out where a micro-batch has fewer samples than there
/// is room for; no two micro-batches have a sample in common.
[[nodiscard]] constexpr std::uint64_t first_sample_of(std::uint64_t index) noexcept {
  return index * (samples_max + 1);
}

struct hash_payload final : payload {
  std::array<std::uint64_t, samples_max> values{};
  std::size_t count = 0;

  void add(std::uint64_t value) { values.at(count++) = value; }
  [[nodiscard]] std::size_t bytes() const noexcept { return count * sizeof(std::uint64_t); }
};

[[nodiscard]] inline const hash_payload& values_of(const payload_ptr& handle) {
  return static_cast<const hash_payload&>(*handle);
}
/// The sample's place in its micro-batch.
[[nodiscard]] inline std::uint32_t row_at(const activation& part, std::size_t k) {
  return part.rows ? part.rows->at(k) : static_cast<std::uint32_t>(k);
}

/// Over the part's samples and where they come from; 0 where there is none.
[[nodiscard]] inline std::uint64_t word_of(const activation& part, const payload_ptr& tensors) {
  if (part.is_empty_part()) return 0;
  const hash_payload& values = values_of(tensors);
  std::uint64_t word = part.samples.begin;
  for (std::size_t k = 0; k < values.count; ++k) word = mix(word, mix(row_at(part, k), values.values.at(k)));
  return word;
}

/// Eight bytes for each number, little-endian.
class hash_codec final : public payload_codec {
 public:
  static constexpr std::size_t bytes = 8;
  [[nodiscard]] std::size_t size_of(const payload& value) const override {
    return static_cast<const hash_payload&>(value).bytes();
  }
  void write(const payload& value, std::span<std::byte> into) const override {
    const auto& values = static_cast<const hash_payload&>(value);
    for (std::size_t at = 0; at < values.bytes(); ++at) {
      into[at] = static_cast<std::byte>(values.values.at(at / bytes) >> 8u * (at % bytes) & 0xffu);
    }
  }
  [[nodiscard]] expected<payload_ptr> read(std::span<const std::byte> from,
                                           std::shared_ptr<const void>) const override {
    if (from.empty() || from.size() % bytes != 0 || from.size() > samples_max * bytes) {
      return fail(error_code::wire_malformed, "payload", "it has another size");
    }
    auto made = std::make_shared<hash_payload>();
    made->count = from.size() / bytes;
    for (std::size_t at = from.size(); at-- > 0;) {
      std::uint64_t& value = made->values.at(at / bytes);
      value = value << 8u | std::to_integer<std::uint64_t>(from[at]);
    }
    return made;
  }
};

struct hash_scorer final : scorer {
  [[nodiscard]] expected<void> evaluate(const payload_ptr& outputs, const activation& input, score& into) override {
    into.samples = input.row_count();
    into.words = {word_of(input, outputs)};
    return {};
  }
};

}  // namespace troupe::simulation
