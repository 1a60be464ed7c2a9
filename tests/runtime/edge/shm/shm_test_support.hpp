// Support of the tests of shm edges: payloads with bytes that tell where they come from, a codec that counts, and both
// ends of an edge with the memory between them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <span>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "messages/limits.hpp"
#include "runtime/edge/shm/shm_edge.hpp"
#include "runtime/os/shared_memory.hpp"

namespace troupe::testing {

/// Eight bytes of the pattern of a seed: no two seeds agree for long, and no cut or shift goes unnoticed.
inline std::uint64_t pattern_word(std::uint64_t seed, std::size_t place) {
  return (seed + 1) * 0x9E37'79B9'7F4A'7C15u + place * 0xD1B5'4A32'D192'ED03u;
}

/// act(place, bytes) for the first `size` bytes of the pattern, in blocks, until it is false. Sanitizers look at each
/// block, and not at each byte.
template <class Act>
bool each_pattern_block(std::uint64_t seed, std::size_t size, Act act) {
  std::array<std::uint64_t, 512> words{};
  for (std::size_t place = 0; place < size; place += sizeof words) {
    const std::size_t bytes = std::min(sizeof words, size - place);
    for (std::size_t i = 0; i < (bytes + 7) / 8; ++i) words[i] = pattern_word(seed, place / 8 + i);
    if (!act(place, std::as_bytes(std::span(words)).first(bytes))) return false;
  }
  return true;
}

/// A payload to send: made when it is written, so that it costs no memory.
class pattern final : public payload {
 public:
  pattern(std::uint64_t seed, std::size_t bytes) : seed_(seed), bytes_(bytes) {}
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  void fill(std::span<std::byte> into) const {
    each_pattern_block(seed_, into.size(), [&](std::size_t place, std::span<const std::byte> block) {
      std::memcpy(into.data() + place, block.data(), block.size());
      return true;
    });
  }

 private:
  const std::uint64_t seed_;
  const std::size_t bytes_;
};

/// What arrives: the slot's own bytes.
class view final : public payload {
 public:
  view(std::span<const std::byte> slot, std::shared_ptr<const void> owner) : bytes(slot), owner_(std::move(owner)) {}
  [[nodiscard]] bool is(std::uint64_t seed, std::size_t size) const {
    return bytes.size() == size && each_pattern_block(seed, size, [&](std::size_t place, auto block) {
             return std::memcmp(bytes.data() + place, block.data(), block.size()) == 0;
           });
  }

  const std::span<const std::byte> bytes;

 private:
  const std::shared_ptr<const void> owner_;
};

inline bool is_pattern(const payload_ptr& got, std::uint64_t seed, std::size_t size) {
  const auto* seen = dynamic_cast<const view*>(got.get());
  return seen != nullptr && seen->is(seed, size);
}

class pattern_codec final : public payload_codec {
 public:
  std::size_t size_of(const payload& value) const override { return dynamic_cast<const pattern&>(value).bytes(); }
  void write(const payload& value, std::span<std::byte> into) const override {
    ++writes;
    note(into);
    dynamic_cast<const pattern&>(value).fill(into);
  }
  expected<payload_ptr> read(std::span<const std::byte> from, std::shared_ptr<const void> owner) const override {
    ++reads;
    note(from);
    return std::make_shared<const view>(from, std::move(owner));
  }

  mutable std::atomic<std::uint64_t> writes{0};
  mutable std::atomic<std::uint64_t> reads{0};
  mutable std::atomic<std::uint64_t> misaligned{0};

 private:
  void note(std::span<const std::byte> place) const {
    if (reinterpret_cast<std::uintptr_t>(place.data()) % limits::payload_alignment != 0) ++misaligned;
  }
};

/// Both ends in one process, each through a descriptor of its own, and a third one to look behind.
class shm_edge {
 public:
  explicit shm_edge(shm_edge_options options, bool checksums = false) : memory_(made(options)) {
    shm_end_options producers{consumer_bell, codec, [this](const error& e) { told(e, producer_damages); }};
    producers.checksums = checksums;
    shm_end_options consumers{producer_bell, codec, [this](const error& e) { told(e, consumer_damages); }};
    consumers.on_lost = [this](const error& e) { told(e, losses); };
    auto out = open_shm_producer(twin(), std::move(producers));
    auto in = open_shm_consumer(twin(), std::move(consumers));
    EXPECT_TRUE(out && in);
    producer = std::move(*out);
    consumer = std::move(*in);
  }

  [[nodiscard]] unique_fd twin() const { return unique_fd(::fcntl(memory_.get(), F_DUPFD_CLOEXEC, 0)); }
  [[nodiscard]] struct stat status() const {
    struct stat found {};
    EXPECT_EQ(::fstat(memory_.get(), &found), 0);
    return found;
  }
  /// All that there is now, as a peer that is out of its mind sees it.
  [[nodiscard]] memory_mapping whole() const {
    const auto memory = shared_memory::adopt(twin(), 1);
    return std::move(*memory->map(0, *memory->size()));
  }

  send_status send(std::uint64_t index, std::size_t tensors, std::size_t labels) {
    activation message{{0, index},
                       {index * 10, index * 10 + 10},
                       std::make_shared<const pattern>(index, tensors),
                       std::make_shared<const pattern>(~index, labels)};
    return producer->try_send(message);
  }

  std::shared_ptr<doorbell> producer_bell = std::make_shared<doorbell>();
  std::shared_ptr<doorbell> consumer_bell = std::make_shared<doorbell>();
  std::shared_ptr<const pattern_codec> codec = std::make_shared<const pattern_codec>();
  std::uint32_t producer_damages = 0;
  std::uint32_t consumer_damages = 0;
  std::uint32_t losses = 0;
  error last_damage;
  std::unique_ptr<edge_producer> producer;
  std::unique_ptr<edge_consumer> consumer;

 private:
  static unique_fd made(const shm_edge_options& options) {
    auto memory = create_shm_edge(options);
    EXPECT_TRUE(memory);
    return std::move(*memory);
  }
  void told(const error& what, std::uint32_t& count) {
    ++count;
    last_damage = what;
  }

  unique_fd memory_;
};

}  // namespace troupe::testing
