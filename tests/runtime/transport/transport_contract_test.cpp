// Goal: every transport keeps the edge contract between two processes, whatever it is made of. Method: a forked child
// has one end and this process the other, over the interface alone; streams with parking, credits, closes, epochs and
// kills. No time is measured but the stall limit, which only a lost wake-up or a lost message reaches.
#include <algorithm>
#include <string>

#include "devices/stand_in_rows.hpp"
#include "toy/toy_transport.hpp"
#include "two_processes.hpp"

namespace troupe::testing {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t stream_messages = 1'000;
#else
constexpr std::uint64_t stream_messages = 5'000;
#endif

class transport_contract : public ::testing::TestWithParam<const transport_row*> {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
#endif
  }

  /// A peer on this host that dies is silence in shared memory: its run hears of the death otherwise.
  [[nodiscard]] bool hears_of_deaths(const party& me) const {
    return me.edges().loses_ends() && row.leaves_host;
  }

  const transport_row& row = *GetParam();
  /// A late device takes several turns of its threads for each message.
  const std::uint64_t stream = &row == &ipc_stand_in_row ? stream_messages / 5 : stream_messages;
  meeting_place place;
  std::uint64_t parks = 0;
};

constexpr plan messages_of_calls{.run_length = 100, .tensors_max = 6000};

/// Sends until all is sent or the consumer is closed. False if a wake-up was lost.
bool produce(party& me, edge_producer& out, std::uint64_t count, std::uint64_t& parks) {
  std::mt19937_64 random(count);
  const plan& plan = messages_of_calls;
  for (std::uint64_t index = 0; index < count; ++index) {
    activation next = plan.message(index);
    send_status status = send_status::no_credit;
    if (!park_until(me.bell(), random() % plan.spins_max, parks, [&] {
          status = out.try_send(next);
          return status != send_status::no_credit;
        })) {
      return false;
    }
    if (status == send_status::closed) return true;
    if ((index + 1) % plan.run_length == 0) out.send_flush(static_cast<call_number>(index / plan.run_length));
  }
  return true;
}

/// Receives until exhausted or `at_most`. False for anything wrong.
bool consume(party& me, edge_consumer& in, std::uint64_t at_most, std::uint64_t& parks) {
  std::mt19937_64 random(at_most);
  const plan& plan = messages_of_calls;
  for (std::uint64_t received = 0; received < at_most;) {
    std::optional<activation> got;
    bool early = false;
    if (!park_until(me.bell(), random() % plan.spins_max, parks, [&] {
          const auto ended = in.flushed_through();
          early = early || (ended && received < (*ended + 1) * plan.run_length);
          got = in.try_receive();
          return got.has_value() || in.exhausted();
        })) {
      return false;
    }
    if (early) return false;
    if (!got) return received + 1 == at_most;
    if (!plan.is_whole(*got, received)) return false;
    ++received;
    got.reset();
    in.release();
  }
  return true;
}

TEST_P(transport_contract, streams_from_another_process) {
  for (const std::uint32_t slots : {1u, 3u, 16u}) {
    SCOPED_TRACE(slots);
    meeting_place here;
    child producer([&] {
      party me(role::worker, here, row);
      const auto out = std::move(*me.edges().open_producer(me.site(0, slots)));
      const bool sent = produce(me, *out, stream, parks);
      out->close();
      me.meet();
      return sent;
    });
    party me(role::driver, here, row);
    const auto in = std::move(*me.edges().open_consumer(me.site(0, slots)));
    EXPECT_TRUE(consume(me, *in, stream + 1, parks));
    EXPECT_TRUE(in->exhausted());
    EXPECT_EQ(in->flushed_through(), stream / messages_of_calls.run_length - 1);
    me.meet();
    in->close();
    EXPECT_TRUE(producer.succeeded());
  }
}

TEST_P(transport_contract, streams_to_another_process) {
  child consumer([&] {
    party me(role::worker, place, row);
    const auto in = std::move(*me.edges().open_consumer(me.site(0, 2)));
    const bool right = consume(me, *in, stream + 1, parks);
    me.meet();
    return right;
  });
  party me(role::driver, place, row);
  const auto out = std::move(*me.edges().open_producer(me.site(0, 2)));
  EXPECT_TRUE(produce(me, *out, stream, parks));
  out->close();
  me.meet();
  EXPECT_TRUE(consumer.succeeded());
}

TEST_P(transport_contract, a_slot_is_free_when_its_message_was_released) {
  child consumer([&] {
    party me(role::worker, place, row);
    const auto in = std::move(*me.edges().open_consumer(me.site(0, 3)));
    me.meet();  // three were sent
    for (int each = 0; each < 3; ++each) {
      if (!park_until(me.bell(), 0, parks, [&] { return in->try_receive().has_value(); })) return false;
    }
    me.meet();  // and received
    me.meet();  // which frees none
    in->release();
    me.meet();  // one more was sent
    const bool came = park_until(me.bell(), 0, parks, [&] { return in->try_receive().has_value(); });
    me.meet();
    return came;
  });
  party me(role::driver, place, row);
  const auto out = std::move(*me.edges().open_producer(me.site(0, 3)));
  std::uint64_t next = 0;
  const auto send = [&] {
    activation message = messages_of_calls.message(next);
    const send_status status = out->try_send(message);
    if (status == send_status::sent) ++next;
    return status;
  };
  EXPECT_EQ(out->slots(), 3u);
  for (int each = 0; each < 3; ++each) EXPECT_EQ(send(), send_status::sent);
  EXPECT_EQ(send(), send_status::no_credit);
  me.meet();
  me.meet();
  EXPECT_EQ(send(), send_status::no_credit) << "received, and still in use";
  me.meet();
  EXPECT_TRUE(park_until(me.bell(), 0, parks, [&] { return send() == send_status::sent; }));
  EXPECT_EQ(send(), send_status::no_credit);
  me.meet();
  me.meet();
  out->close();
  EXPECT_TRUE(consumer.succeeded());
}

TEST_P(transport_contract, a_closed_consumer_takes_nothing_more) {
  child consumer([&] {
    party me(role::worker, place, row);
    auto in = std::move(*me.edges().open_consumer(me.site(0, 2)));
    const bool right = consume(me, *in, 10, parks);
    in.reset();
    me.meet();
    return right;
  });
  party me(role::driver, place, row);
  const auto out = std::move(*me.edges().open_producer(me.site(0, 2)));
  EXPECT_TRUE(produce(me, *out, 1'000'000, parks));
  activation message = messages_of_calls.message(0);
  EXPECT_EQ(out->try_send(message), send_status::closed);
  EXPECT_EQ(out->credits(), out->slots());
  me.meet();
  out->close();
  EXPECT_TRUE(consumer.succeeded());
}

TEST_P(transport_contract, edges_of_the_same_processes_are_apart) {
  child producer([&] {
    party me(role::worker, place, row);
    const auto first = std::move(*me.edges().open_producer(me.site(0, 2)));
    const auto second = std::move(*me.edges().open_producer(me.site(7, 2)));
    activation message = messages_of_calls.message(77);
    const bool sent = second->try_send(message) == send_status::sent;
    const bool streamed = produce(me, *first, 1000, parks);
    me.meet();
    return sent && streamed;
  });
  party me(role::driver, place, row);
  const auto first = std::move(*me.edges().open_consumer(me.site(0, 2)));
  const auto second = std::move(*me.edges().open_consumer(me.site(7, 2)));
  EXPECT_TRUE(consume(me, *first, 1000, parks));
  std::optional<activation> got;
  EXPECT_TRUE(park_until(me.bell(), 0, parks, [&] { return (got = second->try_receive()).has_value(); }));
  EXPECT_TRUE(got && messages_of_calls.is_whole(*got, 77));
  got.reset();
  EXPECT_FALSE(second->try_receive());
  me.meet();
  first->close();
  second->close();
  EXPECT_TRUE(producer.succeeded());
}

TEST_P(transport_contract, the_edge_of_a_new_epoch_has_nothing_of_the_old_one) {
  child producer([&] {
    party me(role::worker, place, row);
    const auto old = std::move(*me.edges().open_producer(me.site(0, 2, 1)));
    activation message = messages_of_calls.message(500);
    const bool sent = old->try_send(message) == send_status::sent;
    me.meet();
    old->abandon();
    const auto out = std::move(*me.edges().open_producer(me.site(0, 2, 2)));
    const bool streamed = produce(me, *out, 1000, parks);
    out->close();
    me.meet();
    return sent && streamed;
  });
  party me(role::driver, place, row);
  const auto old = std::move(*me.edges().open_consumer(me.site(0, 2, 1)));
  me.meet();
  old->abandon();
  const auto in = std::move(*me.edges().open_consumer(me.site(0, 2, 2)));
  EXPECT_TRUE(consume(me, *in, 1001, parks));
  me.meet();
  in->close();
  EXPECT_TRUE(producer.succeeded());
}

TEST_P(transport_contract, a_killed_producer_is_silence_and_a_loss_where_ends_are_lost) {
  const auto news = std::make_shared<end_news>();
  child producer([&] {
    party me(role::worker, place, row);
    const auto out = std::move(*me.edges().open_producer(me.site(0, 2)));
    me.meet();
    return produce(me, *out, 1'000'000, parks);
  });
  party me(role::driver, place, row);
  const auto in = std::move(*me.edges().open_consumer(me.site(0, 2, 1, news)));
  me.meet();
  ASSERT_TRUE(consume(me, *in, 150, parks));
  producer.kill();
  if (hears_of_deaths(me)) {
    const auto why = news->wait_for_loss();
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code, error_code::peer_lost);
  }
  std::uint64_t received = 150;
  while (const auto got = in->try_receive()) EXPECT_TRUE(messages_of_calls.is_whole(*got, received++));
  EXPECT_LE(received, 152u) << "no more than there are slots";
  EXPECT_FALSE(in->exhausted());
  EXPECT_EQ(news->damages, 0u);
}

TEST_P(transport_contract, a_killed_consumer_gives_no_more_credit) {
  const auto news = std::make_shared<end_news>();
  child consumer([&] {
    party me(role::worker, place, row);
    const auto in = std::move(*me.edges().open_consumer(me.site(0, 2)));
    return consume(me, *in, 1'000'000, parks);
  });
  party me(role::driver, place, row);
  const auto out = std::move(*me.edges().open_producer(me.site(0, 2, 1, news)));
  ASSERT_TRUE(produce(me, *out, 150, parks));
  consumer.kill();
  if (hears_of_deaths(me)) {
    EXPECT_TRUE(news->wait_for_loss());
  }
  std::uint64_t sent = 0;
  for (activation next = messages_of_calls.message(150); out->try_send(next) == send_status::sent; ++sent) {
    next = messages_of_calls.message(151 + sent);
  }
  EXPECT_LE(sent, 2u);
  EXPECT_EQ(out->credits(), 0u);
  out->close();
}

TEST_P(transport_contract, an_offer_that_is_none_is_an_error) {
  auto edges = row.between({std::make_shared<const pattern_codec>(), std::nullopt});
  ASSERT_TRUE(edges);
  doorbell bell;
  const edge_site without{
      .epoch = 1, .shape = {2, &bell, &bell, 1}, .peer = {.node = {}, .address = {}, .number = (*edges)->contact()}};
  const auto consumer = (*edges)->open_consumer(without);
  ASSERT_FALSE(consumer);
  EXPECT_EQ(consumer.error().code, error_code::wire_malformed);
  const auto producer = (*edges)->open_producer(without);
  ASSERT_FALSE(producer);
  EXPECT_EQ(producer.error().code, error_code::wire_malformed);
  EXPECT_TRUE((*edges)->may_be_contact((*edges)->contact()));
  EXPECT_FALSE((*edges)->may_be_contact(1u << 20));
}

std::string name_of(const ::testing::TestParamInfo<const transport_row*>& info) {
  std::string name(info.param->name);
  std::ranges::replace(name, ' ', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(transports, transport_contract,
                         ::testing::Values(&between_processes("shm"), &between_processes("tcp"), &between_nodes("auto"),
                                           &toy_row, &nccl_stand_in_row, &ipc_stand_in_row),
                         name_of);

}  // namespace
}  // namespace troupe::testing
