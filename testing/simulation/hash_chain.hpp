#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "messages/payload.hpp"
#include "runtime/edge/payload_codec.hpp"
#include "runtime/engine/micro_batch_source.hpp"
#include "runtime/engine/stage_body.hpp"

/// What simulated runs compute with in place of tensors: numbers in which every mistake shows.
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
[[nodiscard]] constexpr std::uint64_t samples_of(std::uint64_t index) noexcept {
  return 1 + index % 3;
}

struct hash_payload final : payload {
  explicit hash_payload(std::uint64_t v) : value(v) {}
  const std::uint64_t value;
};

[[nodiscard]] inline std::uint64_t value_of(const payload_ptr& handle) {
  return static_cast<const hash_payload&>(*handle).value;
}

/// Eight bytes, little-endian.
class hash_codec final : public payload_codec {
 public:
  static constexpr std::size_t bytes = 8;
  [[nodiscard]] std::size_t size_of(const payload&) const override { return bytes; }
  void write(const payload& value, std::span<std::byte> into) const override {
    std::uint64_t left = static_cast<const hash_payload&>(value).value;
    for (std::byte& each : into.first(bytes)) {
      each = static_cast<std::byte>(left & 0xffu);
      left >>= 8u;
    }
  }
  [[nodiscard]] expected<payload_ptr> read(std::span<const std::byte> from,
                                           std::shared_ptr<const void>) const override {
    if (from.size() != bytes) return fail(error_code::wire_malformed, "payload", "it has another size");
    std::uint64_t value = 0;
    for (std::size_t at = bytes; at-- > 0;) value = value << 8u | std::to_integer<std::uint64_t>(from[at]);
    return std::make_shared<const hash_payload>(value);
  }
};

class hash_source final : public micro_batch_source {
 public:
  hash_source(std::uint64_t call, std::uint64_t count, std::uint64_t first, bool is_rereadable)
      : call_(call), count_(count), position_(first), rereads_(is_rereadable) {}
  [[nodiscard]] expected<std::optional<loaded_micro_batch>> next() override {
    if (position_ == count_) return std::nullopt;
    return made(position_++);
  }
  [[nodiscard]] bool is_rereadable() const noexcept override { return rereads_; }
  [[nodiscard]] expected<loaded_micro_batch> reread(std::uint64_t index) override { return made(index); }

 private:
  [[nodiscard]] loaded_micro_batch made(std::uint64_t index) const {
    return {{index * 4, index * 4 + samples_of(index)},
            std::make_shared<const hash_payload>(input_value(call_, index)),
            nullptr,
            hash_codec::bytes};
  }
  const std::uint64_t call_;
  const std::uint64_t count_;
  std::uint64_t position_;
  const bool rereads_;
};

struct hash_scorer final : scorer {
  [[nodiscard]] expected<void> evaluate(const payload_ptr& outputs, const activation& input, score& into) override {
    into.samples = input.row_count();
    into.words = {value_of(outputs)};
    return {};
  }
};

}  // namespace troupe::simulation
