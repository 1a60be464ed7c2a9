// Support of the tests of cuda_ipc edges: a side of an edge with a late device of its own, and an edge between two.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../tcp/tcp_test_support.hpp"
#include "runtime/edge/cuda_ipc/ipc_transport.hpp"
#include "testing/nccl/late_device.hpp"

namespace troupe::testing {

/// Parts of blocks that can be shared, used again as soon as they are free, as LibTorch uses its memory again.
class reused_parts : public std::enable_shared_from_this<reused_parts> {
 public:
  static constexpr std::size_t part_bytes = 16 << 10;
  explicit reused_parts(std::shared_ptr<device_sharing> from) : from_(std::move(from)) {}

  [[nodiscard]] std::shared_ptr<std::byte> take() {
    const std::scoped_lock lock(guard_);
    if (free_.empty()) {
      blocks_.push_back(std::move(from_->allocate(4 * part_bytes)->memory));
      for (std::size_t part = 0; part < 4; ++part) free_.push_back(blocks_.back().get() + part * part_bytes);
    }
    std::byte* const place = free_.back();
    free_.pop_back();
    return {place, [parts = shared_from_this()](std::byte* back) {
              std::memset(back, 0xDD, part_bytes);
              const std::scoped_lock until_free(parts->guard_);
              parts->free_.push_back(back);
            }};
  }

 private:
  const std::shared_ptr<device_sharing> from_;
  std::mutex guard_;
  std::vector<std::shared_ptr<std::byte>> blocks_;
  std::vector<std::byte*> free_;
};

/// What another codec makes lies in such a part, one extent behind the other, and can be lent.
class lending_codec final : public device_codec {
 public:
  lending_codec(std::shared_ptr<const device_codec> all, std::shared_ptr<device_sharing> from)
      : all_(std::move(all)), parts_(std::make_shared<reused_parts>(std::move(from))) {}
  void check(const payload& value) const override { all_->check(value); }
  [[nodiscard]] device_parts split(const payload_ptr& value) const override {
    device_parts made = all_->split(value);
    std::size_t bytes = 0;
    for (const device_extent& each : made.extents) bytes += each.count * bytes_of(each.type);
    if (made.extents.empty() || bytes > parts_->part_bytes) return made;
    const auto part = parts_->take();
    std::byte* at = part.get();
    for (std::size_t each = 0; each < made.extents.size(); ++each) {
      const std::size_t size = made.extents[each].count * bytes_of(made.extents[each].type);
      std::memcpy(at, made.places[each], size);
      made.places[each] = at;
      made.owners[each] = part;
      at += size;
    }
    made.owner = part;
    return made;
  }
  [[nodiscard]] expected<void> matches(std::span<const std::byte> description,
                                       std::span<const device_extent> extents) const override {
    return all_->matches(description, extents);
  }
  [[nodiscard]] expected<payload_ptr> join(std::span<const std::byte> description,
                                           std::span<const device_extent> extents, std::span<std::byte* const> places,
                                           std::shared_ptr<const void> owner) const override {
    for (std::size_t each = 1; each < places.size(); ++each)
      EXPECT_EQ(places[each], places[each - 1] + extents[each - 1].count * bytes_of(extents[each - 1].type));
    return all_->join(description, extents, places, std::move(owner));
  }

 private:
  const std::shared_ptr<const device_codec> all_;
  const std::shared_ptr<reused_parts> parts_;
};

/// One process's side, but that it may be in this one.
struct ipc_side {
  struct ways {
    std::chrono::milliseconds arrival_timeout = limits::ipc_arrival_timeout;
    std::chrono::milliseconds linger_timeout = limits::ipc_linger_timeout;
    /// Null: that of the device.
    std::shared_ptr<device_sharing> sharing = nullptr;
    /// Messages lie in memory that can be shared.
    bool is_lending = false;
  };
  explicit ipc_side(const ways& how) : readers(std::move(*device->make_stream())) {
    ipc_tools made{.device = device,
                   .sharing = how.sharing ? how.sharing : std::move(*device->sharing()),
                   .codec = std::make_shared<const late_device_codec>(codec),
                   .readers = readers,
                   .arrival_timeout = how.arrival_timeout,
                   .linger_timeout = how.linger_timeout};
    if (how.is_lending) made.codec = std::make_shared<const lending_codec>(made.codec, made.sharing);
    const auto tools = std::make_shared<const ipc_tools>(std::move(made));
    edges = ipc_transport::open([tools] { return tools; }, codec);
  }

  [[nodiscard]] edge_site site(const edge_offer& offer, const edge_options& shape, doorbell* peer_bell = nullptr,
                               error_box* lost = nullptr, error_box* damaged = nullptr) const {
    edge_site made{.epoch = 1, .channel = 3, .shape = shape, .offer = offer};
    if (peer_bell != nullptr) made.peer_bell = std::shared_ptr<doorbell>(std::shared_ptr<void>(), peer_bell);
    if (lost != nullptr) made.on_lost = lost->put();
    if (damaged != nullptr) made.on_damaged = damaged->put();
    return made;
  }
  /// What streams were given is done, and what waited for it is too.
  void settle() const {
    EXPECT_TRUE(eventually([&] { return device->is_idle() && edges->is_settled(); }));
  }

  const std::shared_ptr<const payload_codec> codec = std::make_shared<const number_codec>();
  const std::shared_ptr<late_device> device = std::make_shared<late_device>();
  const std::shared_ptr<context_stream> readers;
  std::shared_ptr<ipc_transport> edges;
};

/// All bytes of a number_payload that has arrived.
inline bool is_whole(const activation& got, std::uint64_t index) {
  const auto& seen = dynamic_cast<const viewed_payload&>(*got.tensors);
  for (std::size_t i = 8; i < seen.bytes.size(); ++i) {
    if (seen.bytes[i] != static_cast<std::byte>(i & 0xffu)) return false;
  }
  return got.id.index == index && seen.value() == index;
}

/// Both ends of one edge; the devices are held one by one.
struct ipc_edge {
  explicit ipc_edge(std::uint32_t slots, std::chrono::milliseconds arrival_timeout = limits::ipc_arrival_timeout)
      : shape{.slots = slots, .producer_bell = &producer_bell, .consumer_bell = &consumer_bell},
        there(ipc_side::ways{.arrival_timeout = arrival_timeout}),
        offer(*here.edges->offer(shape, edge_reach::devices)),
        consumer(std::move(
            *there.edges->open_consumer(there.site(offer, shape, &producer_bell, &consumer_lost, &consumer_damaged)))),
        producer(std::move(
            *here.edges->open_producer(here.site(offer, shape, &consumer_bell, &producer_lost, &producer_damaged)))) {}

  [[nodiscard]] send_status send(std::uint64_t index, std::size_t padding = 0) const {
    activation sent{{0, index}, {index, index + 1}, std::make_shared<number_payload>(index, padding), nullptr};
    return producer->try_send(sent);
  }
  /// The message of this index, with all its bytes.
  [[nodiscard]] std::optional<activation> receive(std::uint64_t index) const {
    std::optional<activation> got;
    EXPECT_TRUE(eventually([&] { return (got = consumer->try_receive()).has_value(); }));
    EXPECT_TRUE(got && is_whole(*got, index));
    return got;
  }
  /// Neither end was told of a loss or a damage.
  void expect_peace() const {
    EXPECT_EQ(consumer_lost.count() + consumer_damaged.count() + producer_lost.count() + producer_damaged.count(), 0u);
  }
  void settle() const {
    here.settle();
    there.settle();
  }

  doorbell producer_bell;
  doorbell consumer_bell;
  edge_options shape;
  error_box consumer_lost;
  error_box consumer_damaged;
  error_box producer_lost;
  error_box producer_damaged;
  const ipc_side here{{}};
  const ipc_side there;
  edge_offer offer;
  std::unique_ptr<edge_consumer> consumer;
  std::unique_ptr<edge_producer> producer;
};

}  // namespace troupe::testing
