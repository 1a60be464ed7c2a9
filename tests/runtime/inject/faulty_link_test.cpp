// Goal: control messages of the stage that a plan names suffer its faults, either way, and no others do. Method: a link
// with the driver's end under faults; messages with numbers of their own, as the codec has them.
#include "runtime/inject/faulty_link.hpp"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../link/link_support.hpp"
#include "injection_support.hpp"
#include "runtime/inject/fault_clock.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;

constexpr stage_address disturbed{2, 0};

class faulty_pair {
 public:
  explicit faulty_pair(const std::string& text, const liveness& times = {std::chrono::seconds{20}}) {
    loop_ = std::move(*link_loop::create(times));
    EXPECT_TRUE(clock_.start());
    auto sockets = std::move(*make_link_sockets());
    driver = disturb_link(loop_->open(std::move(sockets.first), link_side::driver), later(),
                          [one = trigger(text)](const worker_assignment& to) {
                            return to.address == disturbed ? message_triggers{one} : message_triggers{};
                          });
    worker = loop_->open(std::move(sockets.second), link_side::worker);
    driver->start(driver_news.events());
    worker->start(worker_news.events());
  }
  ~faulty_pair() {
    clock_.stop();
    driver->close();
    worker->close();
  }
  /// Both ends have heard each other.
  void greet() {
    worker->send(*codec::encode(release_call{7}));
    ASSERT_TRUE(driver_news.next());
  }
  /// The first message of the stage.
  void assign(stage_address to = disturbed) {
    driver->send(*codec::encode(worker_assignment{.address = to, .incarnation = 0, .boundaries = {}, .faults = {}}));
  }
  void send_calls(call_number count) {
    for (call_number i = 1; i <= count; ++i) driver->send(*codec::encode(release_call{i}));
  }
  /// The calls of the next messages; 0: an assignment, ~0: no message.
  std::vector<call_number> hear(std::size_t count) {
    std::vector<call_number> found;
    for (std::size_t i = 0; i < count; ++i) {
      const auto next = worker_news.next();
      if (!next) return found;
      const auto kind = codec::kind_of(*next);
      const auto read = codec::decode<release_call>(*next);
      found.push_back(read ? read->call : kind ? 0 : ~call_number{0});
    }
    return found;
  }

 private:
  do_later later() {
    return [this](fault_clock::time_point when, std::function<void()> what) { clock_.at(when, std::move(what)); };
  }
  fault_clock clock_;

 public:
  noted_news driver_news;
  noted_news worker_news;

 private:
  /// Its thread tells the news: it ends before they do.
  std::unique_ptr<link_loop> loop_;

 public:
  std::shared_ptr<message_link> driver;
  std::shared_ptr<message_link> worker;
};

constexpr call_number unreadable = ~call_number{0};

TEST(faulty_link, lets_other_stages_alone) {
  faulty_pair pair("drop:control=driver-c");
  pair.assign({1, 0});
  pair.send_calls(2);
  EXPECT_THAT(pair.hear(3), ElementsAre(0, 1, 2));
}

TEST(faulty_link, drops_the_message_of_that_number) {
  faulty_pair pair("drop:control=driver-c,at=msg2");
  pair.assign();
  pair.send_calls(3);
  EXPECT_THAT(pair.hear(3), ElementsAre(0, 2, 3));
}

TEST(faulty_link, says_a_message_twice) {
  faulty_pair pair("duplicate:control=driver-c,at=msg2");
  pair.assign();
  pair.send_calls(2);
  EXPECT_THAT(pair.hear(4), ElementsAre(0, 1, 1, 2));
}

TEST(faulty_link, says_a_message_behind_the_next_one_or_after_a_moment) {
  faulty_pair pair("reorder:control=driver-c,at=msg2");
  pair.assign();
  pair.send_calls(3);
  EXPECT_THAT(pair.hear(4), ElementsAre(0, 2, 1, 3));
  faulty_pair last("reorder:control=driver-c,at=msg2");
  last.assign();
  last.send_calls(1);
  EXPECT_THAT(last.hear(2), ElementsAre(0, 1));
}

TEST(faulty_link, keeps_the_order_behind_a_late_message) {
  faulty_pair pair("delay:control=driver-c,at=msg2,ms=30");
  pair.assign();
  pair.send_calls(3);
  EXPECT_THAT(pair.hear(4), ElementsAre(0, 1, 2, 3));
}

TEST(faulty_link, damages_a_message_so_that_it_cannot_be_read) {
  for (const char* text : {"corrupt:control=driver-c,at=msg2", "truncate:control=driver-c,at=msg2"}) {
    SCOPED_TRACE(text);
    faulty_pair pair(text);
    pair.assign();
    pair.send_calls(2);
    EXPECT_THAT(pair.hear(3), ElementsAre(0, unreadable, 2));
  }
}

bool is_silent_link(const std::optional<error>& lost) {
  return lost && lost->cause.find("silent for 1000 ms") != std::string::npos;
}

TEST(faulty_link, is_lost_by_the_silence_of_one_way) {
  faulty_pair forward("half_open:control=driver-c,direction=forward,at=msg2", short_times);
  forward.greet();
  forward.assign();
  EXPECT_THAT(forward.hear(1), ElementsAre(0));
  forward.send_calls(2);
  EXPECT_TRUE(is_silent_link(forward.worker_news.loss())) << "the worker hears nothing any more";
  EXPECT_TRUE(forward.driver_news.loss()) << "and hangs up";
  EXPECT_FALSE(forward.worker_news.next(std::chrono::milliseconds{0}));

  faulty_pair back("half_open:control=driver-c,direction=back,at=msg2", short_times);
  back.greet();
  back.assign();
  back.send_calls(2);
  EXPECT_THAT(back.hear(3), ElementsAre(0, 1, 2));
  EXPECT_TRUE(is_silent_link(back.driver_news.loss()));
  EXPECT_TRUE(back.worker_news.loss());
}

TEST(faulty_link, is_lost_at_both_ends_when_a_way_is_closed) {
  for (const char* text : {"close:control=driver-c,at=msg2", "close:control=driver-c,at=msg2,direction=forward",
                           "close:control=driver-c,at=msg2,direction=back"}) {
    SCOPED_TRACE(text);
    faulty_pair pair(text, short_times);
    pair.greet();
    pair.assign();
    pair.send_calls(2);
    for (noted_news* const end : {&pair.worker_news, &pair.driver_news}) {
      const auto lost = end->loss();
      ASSERT_TRUE(lost);
      EXPECT_EQ(lost->cause.find("silent"), std::string::npos) << "it is told, and waits for no time-out";
    }
  }
}

class silent_link final : public message_link {
 public:
  void start(link_events) override {}
  void send(codec::bytes) override {}
  [[nodiscard]] std::size_t queued_bytes() const override { return 0; }
  void peer_has_ended(std::function<void()> done) override { done(); }
  void close() override {}
};

/// As of a worker that ends at once: by a thread of the host, while another one starts the link. ThreadSanitizer
/// judges.
TEST(faulty_link, may_be_told_of_the_end_while_it_starts) {
  const auto link = disturb_link(
      std::make_shared<silent_link>(), [](auto, const auto& what) { what(); },
      [](const worker_assignment&) { return message_triggers{}; });
  bool is_told = false;
  std::thread host([&] { link->peer_has_ended([&] { is_told = true; }); });
  link->start({});
  host.join();
  EXPECT_TRUE(is_told);
}

TEST(faulty_link, disturbs_what_the_worker_says_and_tells_the_end_last) {
  faulty_pair pair("drop:control=driver-c,at=msg2");
  pair.assign();
  EXPECT_THAT(pair.hear(1), ElementsAre(0));
  for (call_number i = 1; i <= 2; ++i) pair.worker->send(*codec::encode(release_call{i}));
  const auto heard = pair.driver_news.next();
  ASSERT_TRUE(heard);
  EXPECT_EQ(codec::decode<release_call>(*heard)->call, 2u);
  pair.driver->peer_has_ended([&] { pair.driver_news.note_end(); });
  EXPECT_TRUE(pair.driver_news.has_ended());
}

}  // namespace
}  // namespace troupe::testing
