// Goal: whatever NCCL, the device or the peer does wrong is found within its deadline and named; the edge is silent
// then, and the one of the next epoch works. Method: the stand-in with a fault in it, short deadlines, and a producer
// that announces by hand. No time is measured: what waits for a deadline waits for the news.
#include <csignal>

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nccl_test_support.hpp"
#include "runtime/edge/nccl/announcement.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t channel = 3;
constexpr edge_options two_slots{.slots = 2};

nccl_tools quick_tools() {
  nccl_tools tools = stand_in_tools(std::make_shared<const number_codec>());
  tools.operation_timeout = 100ms;
  tools.abort_timeout = 50ms;
  return tools;
}

class nccl_fault : public ::testing::Test {
 protected:
  void TearDown() override {
    faults.hang_abort = false;
    EXPECT_TRUE(eventually([&] { return faults.alive.load() == 0; })) << "a communicator was not ended";
    faults.refuse_join = faults.hang_join = false;
    faults.fail_operation = faults.hang_operation = 0;
  }

  /// Both ends of one edge at one transport.
  struct both_ends {
    both_ends(const nccl_ground& ground, epoch_number epoch)
        : offer(*ground.edges->offer(two_slots, edge_reach::devices)),
          consumer(*ground.edges->open_consumer(ground.site(offer, two_slots, channel, consumer_news.put(), epoch))),
          producer(*ground.edges->open_producer(ground.site(offer, two_slots, channel, producer_news.put(), epoch))) {}

    [[nodiscard]] send_status send(std::uint64_t index, std::size_t padding = 0) const {
      activation sent{{0, index}, {index, index + 1}, std::make_shared<number_payload>(index, padding), nullptr};
      return producer->try_send(sent);
    }
    /// Whether the message arrives with all its bytes.
    [[nodiscard]] bool receive(std::uint64_t index) const {
      std::optional<activation> got;
      if (!eventually([&] { return (got = consumer->try_receive()).has_value(); })) return false;
      const bool is_right =
          got->id.index == index && dynamic_cast<const viewed_payload&>(*got->tensors).value() == index;
      consumer->release();
      return is_right;
    }

    error_box consumer_news;
    error_box producer_news;
    edge_offer offer;
    std::unique_ptr<edge_consumer> consumer;
    std::unique_ptr<edge_producer> producer;
  };

  static void expect_silence(const both_ends& edge) {
    EXPECT_EQ(edge.send(9), send_status::no_credit);
    EXPECT_EQ(edge.producer->credits(), 0u);
    EXPECT_FALSE(edge.consumer->try_receive());
    EXPECT_FALSE(edge.consumer->exhausted());
  }
  /// An edge of the next epoch works.
  static void expect_a_new_edge(const nccl_ground& ground) {
    const both_ends next(ground, 2);
    EXPECT_EQ(next.send(7, 100'000), send_status::sent);
    EXPECT_TRUE(next.receive(7));
  }

  stand_in_faults& faults = faults_of_stand_in();
};

TEST_F(nccl_fault, an_asynchronous_error_loses_both_ends_and_names_the_message) {
  const nccl_ground ground(quick_tools());
  both_ends edge(ground, 1);
  faults.fail_operation = 3;  // the first is the warm-up
  EXPECT_EQ(edge.send(0), send_status::sent);
  EXPECT_TRUE(edge.receive(0));
  EXPECT_EQ(edge.send(1), send_status::sent);
  const auto here = edge.producer_news.take();
  const auto there = edge.consumer_news.take();
  ASSERT_TRUE(here && there);
  EXPECT_EQ(here->code, error_code::peer_lost);
  EXPECT_EQ(here->where, "nccl edge 3, epoch 1");
  EXPECT_EQ(there->code, error_code::peer_lost);
  // The other end hears of the failure from NCCL or from the announcing edge, whichever is first.
  EXPECT_THAT(here->cause + there->cause, HasSubstr("call 0, micro-batch 1: remote process exited"));
  expect_silence(edge);
  faults.fail_operation = 0;
  expect_a_new_edge(ground);
  EXPECT_GT(faults.aborted.load(), 0u);
}

TEST_F(nccl_fault, a_hang_is_found_by_its_deadline) {
  const nccl_ground ground(quick_tools());
  both_ends edge(ground, 1);
  EXPECT_EQ(edge.send(0), send_status::sent);
  EXPECT_TRUE(edge.receive(0));
  faults.hang_operation = 3;
  EXPECT_EQ(edge.send(1), send_status::sent);
  const auto here = edge.producer_news.take();
  const auto there = edge.consumer_news.take();
  ASSERT_TRUE(here && there);
  EXPECT_THAT(here->cause + there->cause, HasSubstr("call 0, micro-batch 1 has not ended within 100 ms"));
  expect_silence(edge);
  faults.hang_operation = 0;
  expect_a_new_edge(ground);
}

TEST_F(nccl_fault, a_communicator_that_is_never_made_is_found_by_its_deadline) {
  nccl_tools tools = quick_tools();
  tools.join_timeout = 100ms;
  const nccl_ground ground(std::move(tools));
  faults.hang_join = true;
  both_ends edge(ground, 1);
  const auto here = edge.producer_news.take();
  const auto there = edge.consumer_news.take();
  ASSERT_TRUE(here && there);
  EXPECT_THAT(here->cause + there->cause, HasSubstr("the making of its communicator has not ended within 100 ms"));
  faults.hang_join = false;
}

TEST_F(nccl_fault, a_communicator_that_is_refused_says_why) {
  const nccl_ground ground(quick_tools());
  faults.refuse_join = true;
  both_ends edge(ground, 1);
  const auto why = edge.producer_news.take();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, "the making of its communicator: unhandled cuda error");
}

TEST_F(nccl_fault, an_abort_that_hangs_is_abandoned_and_holds_up_nothing) {
  const nccl_ground ground(quick_tools());
  both_ends edge(ground, 1);
  EXPECT_EQ(edge.send(0), send_status::sent);
  EXPECT_TRUE(edge.receive(0));
  faults.hang_abort = true;
  edge.producer->abandon();
  EXPECT_TRUE(edge.consumer_news.take());
  EXPECT_TRUE(eventually([&] { return ground.edges->abandoned_ends() == 2; })) << "that of either end";
  expect_a_new_edge(ground);
}

TEST_F(nccl_fault, an_edge_that_ends_in_order_ends_its_communicators_in_order) {
  const std::uint64_t aborted = faults.aborted;
  const std::uint64_t finalized = faults.finalized;
  const nccl_ground ground(quick_tools());
  both_ends edge(ground, 1);
  EXPECT_EQ(edge.send(0), send_status::sent);
  EXPECT_TRUE(edge.receive(0));
  EXPECT_TRUE(eventually([&] { return ground.is_settled(); }));
  edge.producer->close();
  EXPECT_TRUE(eventually([&] { return edge.consumer->exhausted(); }));
  EXPECT_TRUE(eventually([&] { return faults.alive.load() == 0; }));
  EXPECT_EQ(faults.finalized - finalized, 2u);
  EXPECT_EQ(faults.aborted, aborted);
}

TEST_F(nccl_fault, a_killed_peer_is_replaced_in_the_next_epoch) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not follow a fork";
#endif
  int order[2];
  ASSERT_EQ(::pipe(order), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const nccl_ground ground(quick_tools());
    std::array<std::uint64_t, 3> told{};
    if (::read(order[0], told.data(), sizeof(told)) != sizeof(told)) ::_exit(1);
    edge_site site = ground.site({.words = {told[1], told[2]}}, two_slots, channel, {});
    site.peer.number = told[0];
    const auto producer = *ground.edges->open_producer(std::move(site));
    for (std::uint64_t index = 0;; ++index) {
      activation sent{{0, index}, {index, index + 1}, std::make_shared<number_payload>(index, 50'000), nullptr};
      while (producer->try_send(sent) != send_status::sent) ::sched_yield();
    }
  }
  const nccl_ground ground(quick_tools());
  const edge_offer offer = *ground.edges->offer(two_slots, edge_reach::devices);
  error_box news;
  const auto consumer = *ground.edges->open_consumer(ground.site(offer, two_slots, channel, news.put()));
  const std::array<std::uint64_t, 3> told{ground.edges->contact(), offer.words[0], offer.words[1]};
  ASSERT_EQ(::write(order[1], told.data(), sizeof(told)), static_cast<ssize_t>(sizeof(told)));
  for (std::uint64_t index = 0; index < 20; ++index) {
    std::optional<activation> got;
    ASSERT_TRUE(eventually([&] { return (got = consumer->try_receive()).has_value(); }));
    EXPECT_EQ(dynamic_cast<const viewed_payload&>(*got->tensors).value(), index);
    consumer->release();
  }
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  const auto why = news.take();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, error_code::peer_lost);
  consumer->abandon();
  expect_a_new_edge(ground);
  for (const int each : order) ::close(each);
}

/// A producer's announcing end in the hands of a test.
class nccl_announcements : public nccl_fault {
 protected:
  void say(payload_ptr what) {
    activation sent{{0, said_++}, {0, 1}, std::move(what), nullptr};
    ASSERT_EQ(producer->try_send(sent), send_status::sent);
  }
  void greet() {
    nccl::unique_id id{};
    ASSERT_EQ(stand_in_functions().get_unique_id(&id), nccl::result::success);
    say(std::make_shared<const nccl::hello>(id));
  }
  /// What the consumer says, having taken no memory.
  void expect_refusal(error_code code, const std::string& cause) {
    const auto why = news.take();
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code, code);
    EXPECT_THAT(why->cause, HasSubstr(cause));
    EXPECT_LE(device().allocated(), limits::payload_alignment) << "the byte of the warm-up";
  }
  [[nodiscard]] const late_device& device() const { return dynamic_cast<const late_device&>(*ground.tools->device); }
  static std::vector<std::byte> description_of(std::uint64_t bytes) {
    std::vector<std::byte> made(sizeof(bytes));
    std::memcpy(made.data(), &bytes, sizeof(bytes));
    return made;
  }

  nccl_ground ground{quick_tools()};
  error_box news;
  const edge_offer offer = *ground.edges->offer(two_slots, edge_reach::devices);
  const std::unique_ptr<edge_consumer> consumer =
      *ground.edges->open_consumer(ground.site(offer, two_slots, channel, news.put()));
  const std::shared_ptr<transport> by_hand = [this] {
    tcp_transport_options options{nccl::announcing_codec(ground.codec)};
    return *open_tcp_transport(options);
  }();
  std::unique_ptr<edge_producer> producer = *by_hand->open_producer(ground.site(offer, {.slots = 3}, channel, {}));

 private:
  std::uint64_t said_ = 0;
};

TEST_F(nccl_announcements, of_other_extents_than_the_description_has_is_refused) {
  greet();
  say(std::make_shared<const nccl::announcement>(0, description_of(1 << 20),
                                                 std::vector<device_extent>{{1 << 10, nccl::element::uint8}}));
  expect_refusal(error_code::wire_malformed, "the extents are not those of the description");
}

TEST_F(nccl_announcements, of_too_many_bytes_is_refused) {
  greet();
  const std::vector<device_extent> far_too_much{{~std::uint64_t{0} / 2, nccl::element::float64}};
  say(std::make_shared<const nccl::announcement>(0, description_of(8), far_too_much));
  expect_refusal(error_code::wire_too_large, "more than");
}

TEST_F(nccl_announcements, of_another_send_than_the_next_is_refused) {
  greet();
  say(std::make_shared<const nccl::announcement>(1, description_of(8),
                                                 std::vector<device_extent>{{8, nccl::element::uint8}}));
  expect_refusal(error_code::wire_malformed, "is send 1, expected 0");
}

TEST_F(nccl_announcements, without_a_hello_are_refused) {
  say(std::make_shared<const nccl::announcement>(0, description_of(8),
                                                 std::vector<device_extent>{{8, nccl::element::uint8}}));
  expect_refusal(error_code::wire_malformed, "it begins without a hello");
}

TEST_F(nccl_announcements, in_the_place_of_which_tensors_come_are_refused) {
  greet();
  say(std::make_shared<const number_payload>(5));
  expect_refusal(error_code::wire_malformed, "comes with its tensors");
}

TEST(nccl_announcement_codec, reads_what_it_writes_and_nothing_else) {
  const auto codec = nccl::announcing_codec(std::make_shared<const number_codec>());
  const nccl::announcement said(7, std::vector<std::byte>(24, std::byte{5}),
                                {{10, nccl::element::bfloat16}, {3, nccl::element::uint8}});
  std::vector<std::byte> bytes(codec->size_of(said));
  codec->write(said, bytes);
  const auto got = codec->read(bytes, nullptr);
  ASSERT_TRUE(got);
  const auto& heard = dynamic_cast<const nccl::announcement&>(**got);
  EXPECT_EQ(heard.number, said.number);
  EXPECT_EQ(heard.description, said.description);
  EXPECT_EQ(heard.extents, said.extents);
  for (std::size_t size = sizeof(std::uint64_t); size < bytes.size(); ++size) {
    EXPECT_FALSE(codec->read(std::span(bytes).first(size), nullptr)) << size;
  }
  for (std::size_t word = 2; word < 8; ++word) {  // description, count, and both extents
    if (word == 4 || word == 6) continue;         // counts of elements may be any
    auto wrong = bytes;
    wrong[word * 8 + 7] = std::byte{0x7F};
    const auto refused = codec->read(wrong, nullptr);
    ASSERT_FALSE(refused) << word;
  }
}

}  // namespace
}  // namespace troupe::testing
