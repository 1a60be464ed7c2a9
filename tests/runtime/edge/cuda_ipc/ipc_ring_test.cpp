// Goal: the memory of a producer's slots is taken once, grows by a new block, and is given back when the other end can
// no longer read it; nothing is copied behind the producer's one copy. Method: sharing that counts.
#include <gmock/gmock.h>

#include "ipc_test_support.hpp"
#include "runtime/edge/cuda_ipc/slot_ring.hpp"

namespace troupe::testing {
namespace {

/// Late memory that is counted, and may be short.
class counted_sharing final : public device_sharing {
 public:
  expected<shared_block> allocate(std::size_t bytes) override {
    if (bytes > left) return fail(error_code::device_failed, "late device", "out of memory");
    asked.push_back(bytes);
    auto made = late_->allocate(bytes);
    if (made) last = made->memory;
    return made;
  }
  expected<std::unique_ptr<shared_event>> make_event() override { return late_->make_event(); }
  expected<device_allocation> allocation_of(const std::byte* at) override { return late_->allocation_of(at); }
  expected<sharing_handle> share(const std::byte* base) override { return late_->share(base); }
  expected<shared_block> open_memory(const sharing_handle& handle) override {
    ++opened;
    return late_->open_memory(handle);
  }
  expected<std::shared_ptr<context_event>> open_event(const sharing_handle& handle) override {
    return late_->open_event(handle);
  }

  std::vector<std::size_t> asked;
  std::weak_ptr<std::byte> last;
  std::size_t opened = 0;
  std::size_t left = 1u << 30;

 private:
  const std::shared_ptr<device_sharing> late_ = *late_device().sharing();
};

class ipc_ring : public ::testing::Test {
 protected:
  static constexpr edge_options shape{.slots = 2};
  static constexpr std::chrono::milliseconds linger_timeout = 1h;

  [[nodiscard]] send_status send(std::uint64_t index, std::size_t padding) const {
    activation sent{{0, index}, {index, index + 1}, std::make_shared<number_payload>(index, padding), nullptr};
    return producer->try_send(sent);
  }
  [[nodiscard]] activation receive(std::uint64_t index) const {
    std::optional<activation> got;
    EXPECT_TRUE(eventually([&] { return (got = consumer->try_receive()).has_value(); }));
    EXPECT_TRUE(is_whole(*got, index));
    return std::move(*got);
  }
  void pass(std::uint64_t index, std::size_t padding) const {
    ASSERT_EQ(send(index, padding), send_status::sent);
    static_cast<void>(receive(index));
    consumer->release();
    side.settle();
  }

  const std::shared_ptr<counted_sharing> sharing = std::make_shared<counted_sharing>();
  const ipc_side side{{.linger_timeout = linger_timeout, .sharing = sharing}};
  const edge_offer offer = *side.edges->offer(shape, edge_reach::devices);
  std::unique_ptr<edge_consumer> consumer = std::move(*side.edges->open_consumer(side.site(offer, shape)));
  std::unique_ptr<edge_producer> producer = std::move(*side.edges->open_producer(side.site(offer, shape)));
};

TEST_F(ipc_ring, takes_its_memory_with_the_first_message_and_no_more) {
  EXPECT_TRUE(sharing->asked.empty());
  for (std::uint64_t index = 0; index < 20; ++index) pass(index, 10'000 - index);
  ASSERT_EQ(sharing->asked.size(), 1u);
  EXPECT_GE(sharing->asked.front(), 2 * 10'000u);
  EXPECT_LE(sharing->asked.front(), 2 * 10'000u * 5 / 4 + 2 * limits::payload_alignment);
  EXPECT_EQ(sharing->opened, 1u);
}

TEST_F(ipc_ring, grows_while_older_messages_are_read) {
  ASSERT_EQ(send(0, 100), send_status::sent);
  const activation first = receive(0);
  ASSERT_EQ(send(1, 200'000), send_status::sent);
  const activation second = receive(1);
  EXPECT_TRUE(is_whole(first, 0)) << "of the old block";
  EXPECT_EQ(sharing->asked.size(), 2u);
  EXPECT_EQ(sharing->opened, 2u);
}

TEST_F(ipc_ring, out_of_memory_leaves_message_and_edge_as_they_were) {
  pass(0, 100);
  sharing->left = 50'000;
  activation large{{0, 1}, {1, 2}, std::make_shared<number_payload>(1, 100'000), nullptr};
  const payload_ptr kept = large.tensors;
  try {
    static_cast<void>(producer->try_send(large));
    FAIL() << "sent";
  } catch (const std::runtime_error& thrown) {
    EXPECT_THAT(thrown.what(), ::testing::HasSubstr("out of memory"));
  }
  EXPECT_EQ(large.tensors, kept);
  EXPECT_EQ(producer->credits(), 2u);
  pass(1, 100);
  sharing->left = 1u << 30;
  pass(2, 100'000);
}

/// When this returns, the poller has looked at all that it was given before.
void await_a_look(const ipc_side& side, const counted_sharing& sharing) {
  const edge_options shape{.slots = 1};
  const edge_offer offer = *side.edges->offer(shape, edge_reach::devices);
  const auto consumer = std::move(*side.edges->open_consumer(side.site(offer, shape)));
  auto producer = std::move(*side.edges->open_producer(side.site(offer, shape)));
  activation sent{{0, 0}, {0, 1}, std::make_shared<number_payload>(0), nullptr};
  ASSERT_EQ(producer->try_send(sent), send_status::sent);
  consumer->close();
  producer.reset();
  EXPECT_TRUE(eventually([&] { return sharing.last.expired(); }));
}

TEST_F(ipc_ring, stays_behind_its_producer_until_the_slots_have_come_back) {
  ASSERT_EQ(send(0, 100), send_status::sent);
  const std::weak_ptr<std::byte> memory = sharing->last;
  auto got = std::make_optional(receive(0));
  producer.reset();
  await_a_look(side, *sharing);
  EXPECT_FALSE(memory.expired());
  EXPECT_TRUE(is_whole(*got, 0));
  got.reset();
  consumer->release();
  EXPECT_TRUE(eventually([&] { return memory.expired(); }));
}

TEST_F(ipc_ring, goes_when_the_consumer_has_closed) {
  ASSERT_EQ(send(0, 100), send_status::sent);
  consumer.reset();
  producer.reset();
  EXPECT_TRUE(eventually([&] { return sharing->last.expired(); }));
}

TEST(ipc_ring_of_a_dead_consumer, goes_in_its_time) {
  const auto sharing = std::make_shared<counted_sharing>();
  const ipc_side side{{.linger_timeout = 20ms, .sharing = sharing}};
  const edge_options shape{.slots = 2};
  const edge_offer offer = *side.edges->offer(shape, edge_reach::devices);
  auto producer = std::move(*side.edges->open_producer(side.site(offer, shape)));
  activation sent{{0, 0}, {0, 1}, std::make_shared<number_payload>(0), nullptr};
  ASSERT_EQ(producer->try_send(sent), send_status::sent);
  side.settle();
  producer->abandon();
  producer.reset();
  EXPECT_TRUE(eventually([&] { return sharing->last.expired(); }));
}

/// The ring alone.
struct bare_ring {
  explicit bare_ring(std::uint32_t slots) {
    ipc_tools made{.device = device,
                   .sharing = std::move(*device->sharing()),
                   .codec = std::make_shared<const late_device_codec>(std::make_shared<const number_codec>())};
    tools = std::make_shared<const ipc_tools>(std::move(made));
    ring = std::move(*ipc::slot_ring::make(tools, slots));
  }
  void send(std::uint32_t slot, std::size_t bytes) const {
    ring->came_back(slot);
    const auto parts = tools->codec->split(std::make_shared<number_payload>(1, bytes - sizeof(std::uint64_t)));
    ring->was_sent(ring->fill(slot, parts, *nccl::room_of(parts.extents)));
    EXPECT_TRUE(eventually([&] { return device->is_idle(); }));
  }

  const std::shared_ptr<late_device> device = std::make_shared<late_device>();
  std::shared_ptr<const ipc_tools> tools;
  std::shared_ptr<ipc::slot_ring> ring;
};

TEST(ipc_bare_ring, frees_an_old_block_when_both_sides_are_done_with_it) {
  const bare_ring of(2);
  constexpr std::size_t small = 4096;
  constexpr std::size_t large = 1 << 20;
  of.send(0, small);
  of.send(1, small);
  const std::uint64_t first = of.ring->bytes();
  of.send(0, large);
  const std::uint64_t both = of.ring->bytes();
  EXPECT_GT(both, first + large);
  of.ring->came_back(0);
  EXPECT_EQ(of.ring->bytes(), both) << "slot 1 is still in the old block";
  of.ring->came_back(1);
  EXPECT_EQ(of.ring->bytes(), both - first) << "the new block has come back: the consumer has closed the old one";
}

TEST(ipc_bare_ring, keeps_an_old_block_until_the_consumer_has_seen_the_new_one) {
  const bare_ring of(2);
  of.send(0, 4096);
  of.ring->came_back(0);
  of.send(1, 1 << 20);
  const std::uint64_t both = of.ring->bytes();
  of.ring->came_back(0);
  EXPECT_EQ(of.ring->bytes(), both) << "nothing is in it, but the consumer has it open";
  of.ring->came_back(1);
  EXPECT_LT(of.ring->bytes(), both);
}

TEST(ipc_bare_ring, has_a_limit) {
  const bare_ring of(2);
  const device_parts none;
  EXPECT_THROW(static_cast<void>(of.ring->fill(0, none, limits::ipc_ring_bytes_max)), std::runtime_error);
}

class ipc_lent : public ::testing::Test {
 protected:
  using owner_ptr = std::shared_ptr<const void>;

  /// A stage's tensor of `bytes` somewhere in an allocation; the owner is one of its own.
  [[nodiscard]] static device_parts tensor_at(const std::byte* place, std::uint64_t bytes = 64) {
    return {.description = {},
            .extents = {{bytes, nccl::element::uint8}},
            .places = {place},
            .owner = std::make_shared<const int>(1),
            .owners = {std::make_shared<const int>(1)}};
  }
  /// And a second one.
  static void add(device_parts& to, const std::byte* place, std::uint64_t bytes = 64) {
    device_parts other = tensor_at(place, bytes);
    to.extents.push_back(other.extents.front());
    to.places.push_back(place);
    to.owners.push_back(std::move(other.owners.front()));
  }
  [[nodiscard]] shared_block allocate() const { return *of.tools->sharing->allocate(8000); }
  [[nodiscard]] ipc::place send(std::uint32_t slot, const device_parts& parts) const {
    of.ring->came_back(slot);
    const ipc::place where = of.ring->fill(slot, parts, *nccl::room_of(parts.extents));
    of.ring->was_sent(where);
    return where;
  }
  void expect_copied(const device_parts& parts) const {
    EXPECT_NE(send(0, parts).block, 0u);
    EXPECT_TRUE(eventually([&] { return of.device->is_idle(); }));
  }

  const bare_ring of{2};
  const shared_block in = allocate();
};

TEST_F(ipc_lent, lies_where_the_stage_made_it) {
  EXPECT_TRUE(of.ring->is_empty());
  const ipc::place where = send(1, tensor_at(in.memory.get() + 1024));
  EXPECT_EQ(where.block, 0u);
  EXPECT_EQ(where.slot, 1u);
  EXPECT_EQ(where.spots, std::vector<ipc::spot>({{in.handle, 1024}}));
  EXPECT_EQ(of.ring->bytes(), 0u) << "nothing is copied";
  EXPECT_FALSE(of.ring->is_empty()) << "a consumer may read it";
}

TEST_F(ipc_lent, stays_until_its_slot_is_used_again_and_the_newest_of_an_allocation_for_good) {
  std::weak_ptr<const void> owners[3];
  std::weak_ptr<const void> tensors[3];
  for (std::uint32_t each = 0; each < 3; ++each) {
    const device_parts parts = tensor_at(in.memory.get());
    owners[each] = parts.owner;
    tensors[each] = parts.owners.front();
    static_cast<void>(send(each % 2, parts));
    of.ring->drop_copied();
  }
  EXPECT_TRUE(owners[0].expired()) << "its slot has another message";
  EXPECT_FALSE(owners[1].expired() || owners[2].expired());
  of.ring->came_back(0);
  of.ring->came_back(1);
  EXPECT_TRUE(owners[1].expired() && owners[2].expired());
  EXPECT_TRUE(tensors[1].expired());
  EXPECT_FALSE(tensors[2].expired()) << "the allocation could be freed while the consumer has it open";
}

TEST_F(ipc_lent, may_be_several_tensors_of_which_each_keeps_its_own_allocation) {
  const shared_block other = allocate();
  device_parts first = tensor_at(in.memory.get());
  add(first, other.memory.get() + 128);
  add(first, in.memory.get() + 256);
  EXPECT_EQ(send(0, first).spots, std::vector<ipc::spot>({{in.handle, 0}, {other.handle, 128}, {in.handle, 256}}));
  EXPECT_EQ(of.ring->bytes(), 0u) << "nothing is copied";
  const std::weak_ptr<const void> kept[] = {first.owners[0], first.owners[1], first.owners[2]};
  first = tensor_at(in.memory.get() + 512);
  static_cast<void>(send(0, first));
  EXPECT_TRUE(kept[0].expired() && kept[2].expired()) << "another one is the newest there";
  EXPECT_FALSE(kept[1].expired());
}

TEST_F(ipc_lent, is_nothing_that_the_consumer_could_not_read_alone) {
  expect_copied(tensor_at(in.memory.get() + 8));
  EXPECT_EQ(send(0, tensor_at(in.memory.get() + in.bytes - 64, 64)).block, 0u) << "the last that fits";
  EXPECT_EQ(send(0, tensor_at(in.memory.get(), in.bytes / 2)).block, 0u);
  const auto alone = *of.device->allocate(64);
  expect_copied(tensor_at(alone.get()));
  device_parts two = tensor_at(in.memory.get());
  add(two, alone.get());
  expect_copied(two);
}

TEST_F(ipc_lent, has_a_limit_of_allocations_that_a_message_fills) {
  // Two tensors in one allocation, which take its half and `more`.
  const auto filling = [](const shared_block& block, std::uint64_t more) {
    device_parts two = tensor_at(block.memory.get(), block.bytes / 4);
    add(two, block.memory.get() + block.bytes / 2, block.bytes / 4 + more);
    return two;
  };
  std::vector<shared_block> all;
  for (std::ptrdiff_t each = 0; each < limits::ipc_full_allocations_max; ++each) {
    all.push_back(allocate());
    EXPECT_EQ(send(0, filling(all.back(), 1)).block, 0u);
  }
  expect_copied(filling(in, 1));  // it would stay, and no other find room
  EXPECT_EQ(send(0, filling(in, 0)).block, 0u) << "another finds room";
  expect_copied(filling(in, 1));
  EXPECT_EQ(send(0, filling(all.front(), 1)).block, 0u) << "a known one";
}

TEST_F(ipc_lent, has_a_limit_of_allocations) {
  std::vector<shared_block> all;
  for (std::size_t each = 0; each < limits::ipc_lent_allocations_max; ++each) {
    all.push_back(allocate());
    expect_copied(tensor_at(allocate().memory.get() + 8));  // what was refused does not count
    EXPECT_EQ(send(0, tensor_at(all.back().memory.get())).block, 0u);
  }
  expect_copied(tensor_at(in.memory.get()));
  EXPECT_EQ(send(0, tensor_at(all.front().memory.get())).block, 0u) << "a known one";
  device_parts known_and_new = tensor_at(all.back().memory.get() + 64);
  add(known_and_new, in.memory.get());
  expect_copied(known_and_new);
}

TEST(ipc_bare_ring, keeps_what_is_copied_from_though_the_slot_comes_back_early) {
  const bare_ring of(1);
  of.device->hold(true);
  std::weak_ptr<const void> sources[2];
  for (auto& each : sources) {
    of.ring->came_back(0);
    const auto parts = of.tools->codec->split(std::make_shared<number_payload>(1));
    each = parts.owner;
    static_cast<void>(of.ring->fill(0, parts, *nccl::room_of(parts.extents)));
    of.ring->drop_copied();
  }
  EXPECT_FALSE(sources[0].expired() || sources[1].expired());
  EXPECT_FALSE(of.ring->is_quiet());
  of.device->hold(false);
  EXPECT_TRUE(eventually([&] { return of.ring->is_quiet() && of.device->is_idle(); }));
  of.ring->drop_copied();
  EXPECT_TRUE(sources[0].expired() && sources[1].expired());
}

}  // namespace
}  // namespace troupe::testing
