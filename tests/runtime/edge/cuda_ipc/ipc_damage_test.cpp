// Goal: whatever a peer announces, nothing outside its block is read, and the fault is named. Method: a producer's
// announcing end in the hands of a test.
#include <gmock/gmock.h>

#include "ipc_test_support.hpp"
#include "runtime/edge/cuda_ipc/ipc_announcement.hpp"
#include "runtime/edge/shm/shm_edge.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

class ipc_damage : public ::testing::Test {
 protected:
  static constexpr std::uint64_t bytes = 64;
  static constexpr edge_options shape{.slots = 2};

  [[nodiscard]] ipc::place right_place() const {
    ipc::place made;
    made.block = 1;
    made.event = event->handle();
    made.spots = {{block.handle, 0}};
    return made;
  }
  static std::shared_ptr<ipc::announcement> announcing(const ipc::place& where, std::uint64_t described = bytes,
                                                       device_extent extent = {bytes, nccl::element::uint8}) {
    std::vector<std::byte> description(sizeof(described));
    std::memcpy(description.data(), &described, sizeof(described));
    auto made = std::make_shared<ipc::announcement>(
        std::make_shared<const nccl::announcement>(0, std::move(description), std::vector<device_extent>{extent}));
    made->where = where;
    return made;
  }
  void say(payload_ptr tensors, payload_ptr labels = nullptr) {
    activation sent{{0, 5}, {0, 1}, std::move(tensors), std::move(labels)};
    ASSERT_EQ(by_hand->try_send(sent), send_status::sent);
  }
  void expect(error_box& told, error_code code, const std::string& cause) {
    EXPECT_FALSE(consumer->try_receive());
    ASSERT_EQ(told.count(), 1u) << "expected: " << cause;
    const auto why = told.take();
    EXPECT_EQ(why->code, code);
    EXPECT_EQ(why->where, "cuda_ipc edge 3, epoch 1");
    EXPECT_THAT(why->cause, HasSubstr(cause));
    EXPECT_EQ(damaged.count() + lost.count(), 1u);
    EXPECT_FALSE(consumer->try_receive());
    EXPECT_FALSE(consumer->exhausted());
    EXPECT_EQ(consumer->flushed_through(), std::nullopt);
  }
  void expect_damage(const std::string& cause, error_code code = error_code::wire_malformed) {
    expect(damaged, code, cause);
  }

  const ipc_side side{{}};
  error_box lost;
  error_box damaged;
  const edge_offer offer = *side.edges->offer(shape, edge_reach::devices);
  std::unique_ptr<edge_consumer> consumer =
      std::move(*side.edges->open_consumer(side.site(offer, shape, nullptr, &lost, &damaged)));
  std::unique_ptr<edge_producer> by_hand =
      std::move(*open_shm_producer(std::move(*offer.memory->copy()), {nullptr, ipc::announcing_codec(side.codec), {}}));
  const shared_block block = *(*side.device->sharing())->allocate(1000);
  const std::unique_ptr<shared_event> event = std::move(*(*side.device->sharing())->make_event());
};

TEST_F(ipc_damage, the_right_place_is_viewed_where_it_lies) {
  ipc::place where = right_place();
  where.spots.front().offset = block.bytes - bytes;
  say(announcing(where));
  const auto got = consumer->try_receive();
  ASSERT_TRUE(got);
  const auto& seen = dynamic_cast<const viewed_payload&>(*got->tensors);
  ASSERT_EQ(seen.bytes.size(), bytes);
  block.memory.get()[where.spots.front().offset + 63] = std::byte{78};
  EXPECT_EQ(seen.bytes[63], std::byte{78}) << "a copy was made";
}

TEST_F(ipc_damage, a_place_beyond_the_end_of_the_block) {
  ipc::place where = right_place();
  where.spots.front().offset = block.bytes;
  say(announcing(where));
  expect_damage("64 bytes at 4096 of a block of 4096");
}

TEST_F(ipc_damage, a_place_that_overflows) {
  ipc::place where = right_place();
  where.spots.front().offset = ~std::uint64_t{0} - 63;
  say(announcing(where));
  expect_damage("of a block of 4096");
}

TEST_F(ipc_damage, a_place_between_two_alignments) {
  ipc::place where = right_place();
  where.spots.front().offset = 8;
  say(announcing(where));
  expect_damage("a slot at 8");
}

TEST_F(ipc_damage, a_slot_that_is_none) {
  ipc::place where = right_place();
  where.slot = 2;
  say(announcing(where));
  expect_damage("slot 2");
}

TEST_F(ipc_damage, a_block_that_is_none_or_older) {
  ipc::place where = right_place();
  where.block = 2;
  say(announcing(where));
  ASSERT_TRUE(consumer->try_receive());
  where.block = 1;
  where.slot = 1;
  say(announcing(where));
  expect_damage("block 1");
}

TEST_F(ipc_damage, what_is_lent_is_viewed_at_once_and_needs_no_event) {
  ipc::place where = right_place();
  where.block = 0;
  where.spots.front().offset = 128;
  where.event = {};
  say(announcing(where));
  const auto got = consumer->try_receive();
  ASSERT_TRUE(got);
  block.memory.get()[128 + 63] = std::byte{78};
  EXPECT_EQ(dynamic_cast<const viewed_payload&>(*got->tensors).bytes[63], std::byte{78}) << "a copy was made";
}

TEST_F(ipc_damage, what_is_lent_beyond_the_end_of_its_allocation) {
  ipc::place where = right_place();
  where.block = 0;
  where.spots.front().offset = block.bytes - bytes + limits::payload_alignment;
  say(announcing(where));
  expect_damage("of a block of 4096");
}

TEST_F(ipc_damage, more_allocations_than_may_be_lent) {
  std::vector<shared_block> all;
  for (std::size_t each = 0; each <= limits::ipc_lent_allocations_max; ++each) {
    all.push_back(*(*side.device->sharing())->allocate(1000));
    ipc::place where = right_place();
    where.block = 0;
    where.spots.front().memory = all.back().handle;
    say(announcing(where));
    if (each == limits::ipc_lent_allocations_max) break;
    ASSERT_TRUE(consumer->try_receive());
    consumer->release();
    EXPECT_TRUE(eventually([&] { return by_hand->has_credit(); }));
  }
  expect_damage("more than 16 allocations are lent");
}

TEST_F(ipc_damage, more_bytes_than_a_message_may_have) {
  say(announcing(right_place(), ~std::uint64_t{0}, {~std::uint64_t{0} / 2, nccl::element::float64}));
  expect_damage("more than", error_code::wire_too_large);
}

TEST_F(ipc_damage, other_extents_than_described) {
  say(announcing(right_place(), bytes + 1));
  expect_damage("call 0, micro-batch 5: the extents are not those of the description");
}

TEST_F(ipc_damage, tensors_in_the_place_of_an_announcement) {
  say(std::make_shared<number_payload>(1));
  expect_damage("call 0, micro-batch 5 comes with its tensors");
}

TEST_F(ipc_damage, an_announcement_in_the_place_of_labels) {
  say(announcing(right_place()), announcing(right_place()));
  expect_damage("comes with labels that are none");
}

TEST_F(ipc_damage, handles_that_open_nothing_lose_the_end_as_their_maker_may_be_dead) {
  ipc::place where = right_place();
  where.spots.front().memory[3] ^= std::byte{1};
  say(announcing(where));
  expect(lost, error_code::device_failed, "call 0, micro-batch 5: the handle is of something else");
}

TEST_F(ipc_damage, an_event_that_is_none_loses_the_end) {
  ipc::place where = right_place();
  where.event = where.spots.front().memory;
  say(announcing(where));
  expect(lost, error_code::device_failed, "the handle is of something else");
}

}  // namespace
}  // namespace troupe::testing
