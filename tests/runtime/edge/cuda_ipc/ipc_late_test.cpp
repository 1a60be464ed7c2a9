// Goal: nothing is read before it is written, and no slot is written again before it was read, however late the devices
// are. Method: the two devices are held, one at a time; work done too early has wrong bits then.
#include <cstring>

#include <gmock/gmock.h>

#include "ipc_test_support.hpp"

namespace troupe::testing {
namespace {

constexpr std::size_t some_padding = 5000;

/// A copy of what arrived, by the stream of the consumer's readers.
class late_reading {
 public:
  late_reading(const ipc_edge& edge, const activation& message)
      : bytes_(dynamic_cast<const viewed_payload&>(*message.tensors).bytes.size()),
        copied_(std::move(*edge.there.device->allocate(bytes_))) {
    const auto& seen = dynamic_cast<const viewed_payload&>(*message.tensors);
    EXPECT_TRUE(edge.there.readers->copy(copied_.get(), seen.bytes.data(), bytes_));
  }
  [[nodiscard]] std::uint64_t value() const { return viewed_payload({copied_.get(), bytes_}, nullptr).value(); }

 private:
  const std::size_t bytes_;
  const std::shared_ptr<std::byte> copied_;
};

TEST(ipc_late, a_message_is_handed_on_when_it_is_written_and_not_before) {
  ipc_edge edge(2);
  edge.here.device->hold(true);
  ASSERT_EQ(edge.send(0, some_padding), send_status::sent);
  EXPECT_FALSE(edge.consumer->try_receive()) << "announced, and not written";
  EXPECT_FALSE(edge.consumer->try_receive());
  const std::uint32_t rung = edge.consumer_bell.epoch();
  edge.here.device->hold(false);
  EXPECT_TRUE(eventually([&] { return edge.consumer_bell.epoch() != rung; })) << "a parked engine is woken";
  const auto got = edge.consumer->try_receive();
  ASSERT_TRUE(got);
  EXPECT_TRUE(is_whole(*got, 0));
  edge.expect_peace();
}

TEST(ipc_late, flushes_and_closes_wait_for_the_messages_before_them) {
  ipc_edge edge(4);
  edge.producer->send_flush(0);
  edge.here.device->hold(true);
  ASSERT_EQ(edge.send(0), send_status::sent);
  edge.producer->send_flush(1);
  edge.producer->close();
  EXPECT_FALSE(edge.consumer->try_receive());
  EXPECT_EQ(edge.consumer->flushed_through(), 0u);
  EXPECT_FALSE(edge.consumer->exhausted());
  edge.here.device->hold(false);
  ASSERT_TRUE(edge.receive(0));
  EXPECT_EQ(edge.consumer->flushed_through(), 1u);
  EXPECT_TRUE(edge.consumer->exhausted());
}

TEST(ipc_late, a_slot_comes_back_when_the_readers_have_read_it_and_not_before) {
  ipc_edge edge(1);
  ASSERT_EQ(edge.send(0, some_padding), send_status::sent);
  auto got = edge.receive(0);
  ASSERT_TRUE(got);
  edge.there.device->hold(true);
  const late_reading reading(edge, *got);
  got.reset();
  edge.consumer->release();
  EXPECT_EQ(edge.send(1, some_padding), send_status::no_credit) << "dropped and released, but not read";
  const std::uint32_t rung = edge.producer_bell.epoch();
  edge.there.device->hold(false);
  EXPECT_TRUE(eventually([&] { return edge.send(1, some_padding) == send_status::sent; }));
  EXPECT_NE(edge.producer_bell.epoch(), rung);
  edge.settle();
  EXPECT_EQ(reading.value(), 0u) << "it was written again before it was read";
  EXPECT_TRUE(edge.receive(1));
}

TEST(ipc_late, a_release_counts_for_the_message_that_was_dropped_though_it_is_still_read) {
  ipc_edge edge(2);
  ASSERT_EQ(edge.send(0), send_status::sent);
  ASSERT_EQ(edge.send(1), send_status::sent);
  const auto kept = edge.receive(0);
  auto dropped = edge.receive(1);
  ASSERT_TRUE(kept && dropped);
  edge.there.device->hold(true);
  const late_reading reading(edge, *dropped);
  dropped.reset();
  edge.consumer->release();
  EXPECT_EQ(edge.producer->credits(), 0u);
  edge.there.device->hold(false);
  EXPECT_TRUE(eventually([&] { return edge.producer->credits() == 1; }));
  edge.settle();
}

TEST(ipc_late, a_message_that_never_arrives_loses_the_end_in_its_time) {
  ipc_edge edge(2, 50ms);
  edge.here.device->hold(true);
  ASSERT_EQ(edge.send(7), send_status::sent);
  EXPECT_TRUE(eventually([&] { return !edge.consumer->try_receive() && edge.consumer_lost.count() == 1; }));
  const auto why = edge.consumer_lost.take();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, error_code::peer_lost);
  EXPECT_EQ(why->where, "cuda_ipc edge 3, epoch 1");
  EXPECT_EQ(why->cause, "call 0, micro-batch 7 has not arrived within 50 ms");
  edge.here.device->hold(false);
  edge.settle();
  EXPECT_FALSE(edge.consumer->try_receive()) << "silent";
  EXPECT_FALSE(edge.consumer->exhausted());
}

TEST(ipc_late, what_is_copied_from_stays_until_it_is_copied) {
  ipc_edge edge(2);
  edge.here.device->hold(true);
  ASSERT_EQ(edge.send(0, some_padding), send_status::sent);
  edge.producer.reset();
  edge.here.device->hold(false);
  EXPECT_TRUE(edge.receive(0)) << "the producer is gone, its slots are not";
  edge.expect_peace();
}

}  // namespace
}  // namespace troupe::testing
