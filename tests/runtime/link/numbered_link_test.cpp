// Goal: each message is told once and in order, whatever the link below does, and a link that brings nothing is lost.
// Method: two ends in one thread over a way that loses, doubles and mixes by a seed; the test gives the beats.
#include "runtime/link/numbered_link.hpp"

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "messages/codec/codec.hpp"
#include "messages/limits.hpp"
#include "messages/worker.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

codec::bytes text(const std::string& what) {
  const auto view = std::as_bytes(std::span(what));
  return {view.begin(), view.end()};
}

/// What an end has sent waits here until the test lets it arrive at the other one.
class noted_way final : public message_link {
 public:
  void start(link_events above) override { events = std::move(above); }
  void send(codec::bytes message) override { sent.push_back(std::move(message)); }
  [[nodiscard]] std::size_t queued_bytes() const override { return counts_waiting ? sent.size() : queued; }
  void peer_has_ended(std::function<void()>) override {}
  void close() override { events = {}; }

  link_events events;
  std::deque<codec::bytes> sent;
  std::size_t queued = 0;
  /// As a link does until its thread has written.
  bool counts_waiting = false;
};

class end_of_link {
 public:
  end_of_link() {
    link->start({.on_message =
                     [this](const codec::bytes& message) {
                       told.emplace_back(reinterpret_cast<const char*>(message.data()), message.size());
                     },
                 .on_lost = [this](const error& why) { losses.push_back(why.code); }});
  }
  ~end_of_link() { link->close(); }
  void say(const std::string& what) const { link->send(text(what)); }
  void beat(std::uint64_t times = 1) const {
    for (; times > 0 && way->events.on_beat; --times) way->events.on_beat();
  }
  /// All that it has sent arrives there, in order.
  void bring_all_to(const end_of_link& there) const {
    while (!way->sent.empty()) {
      const codec::bytes first = std::move(way->sent.front());
      way->sent.pop_front();
      there.way->events.on_message(first);
    }
  }

  const std::shared_ptr<noted_way> way = std::make_shared<noted_way>();
  const std::shared_ptr<message_link> link = number_messages(way);
  std::vector<std::string> told;
  std::vector<error_code> losses;
};

class numbered : public ::testing::Test {
 protected:
  end_of_link driver;
  end_of_link worker;
};

TEST_F(numbered, what_was_lost_is_said_again_and_those_behind_it_wait) {
  driver.say("a");
  driver.say("b");
  driver.way->sent.pop_front();
  driver.bring_all_to(worker);
  EXPECT_THAT(worker.told, IsEmpty());
  driver.beat(limits::message_repeat_beats);
  driver.bring_all_to(worker);
  EXPECT_THAT(worker.told, ElementsAre("a", "b"));
}

TEST_F(numbered, what_was_lost_is_said_again_although_the_other_end_speaks_on_each_beat) {
  driver.way->counts_waiting = true;
  driver.say("a");
  driver.way->sent.clear();
  for (std::uint64_t beat = 0; beat <= limits::message_repeat_beats; ++beat) {
    worker.say("news");
    worker.bring_all_to(driver);
    driver.beat();
    driver.bring_all_to(worker);
  }
  EXPECT_THAT(worker.told, ElementsAre("a"));
}

TEST_F(numbered, what_was_heard_is_not_said_again) {
  driver.say("a");
  driver.bring_all_to(worker);
  worker.beat();
  worker.bring_all_to(driver);
  driver.beat(10 * limits::message_unheard_beats);
  worker.beat(10 * limits::message_unheard_beats);
  EXPECT_THAT(driver.way->sent, IsEmpty());
  EXPECT_THAT(worker.way->sent, IsEmpty()) << "a receipt is told once";
  EXPECT_THAT(driver.losses, IsEmpty());
}

TEST_F(numbered, what_leaves_no_room_for_a_number_passes_without_one) {
  const std::string large(limits::wire_message_bytes_max, 'x');
  driver.say("a");
  driver.say(large);
  driver.say("b");
  driver.bring_all_to(worker);
  EXPECT_THAT(worker.told, ElementsAre("a", large, "b"));
}

TEST_F(numbered, an_answer_is_a_receipt) {
  driver.say("a");
  driver.bring_all_to(worker);
  worker.say("b");
  worker.bring_all_to(driver);
  driver.beat(limits::message_repeat_beats);
  worker.beat();
  EXPECT_EQ(driver.way->sent.size(), 1u) << "the receipt of b alone";
  EXPECT_THAT(worker.way->sent, IsEmpty());
}

TEST_F(numbered, what_has_not_left_is_not_said_again) {
  driver.say("a");
  driver.way->queued = 1;
  driver.beat(2 * limits::message_repeat_beats);
  EXPECT_EQ(driver.way->sent.size(), 1u);
}

TEST_F(numbered, many_bytes_are_confirmed_at_once) {
  driver.say(std::string(limits::message_receipt_bytes, 'x'));
  driver.bring_all_to(worker);
  EXPECT_EQ(worker.way->sent.size(), 1u);
}

TEST_F(numbered, a_link_that_brings_nothing_is_lost_once) {
  driver.say("a");
  driver.beat(limits::message_unheard_beats - 1);
  EXPECT_THAT(driver.losses, IsEmpty());
  driver.beat(5);
  EXPECT_THAT(driver.losses, ElementsAre(error_code::peer_lost));
  driver.way->sent.clear();
  driver.say("b");
  EXPECT_THAT(driver.way->sent, IsEmpty());
}

TEST_F(numbered, what_cannot_be_is_told_as_it_is) {
  driver.way->events.on_message(text("nonsense"));
  const auto never_said = *codec::encode(numbered_message{1, 7, {}});
  const auto too_far = *codec::encode(numbered_message{limits::messages_ahead_max + 1, 0, {}});
  driver.way->events.on_message(never_said);
  driver.way->events.on_message(too_far);
  EXPECT_EQ(driver.told.size(), 3u);
  EXPECT_EQ(driver.told.front(), "nonsense");
}

/// Of the messages on the way a fourth is lost and a fourth comes twice, all in any order.
void bring_some(const end_of_link& from, const end_of_link& to, std::mt19937_64& random) {
  std::vector<codec::bytes> arriving;
  for (const codec::bytes& each : from.way->sent) {
    const std::uint64_t fate = random() % 4;
    if (fate != 0) arriving.push_back(each);
    if (fate == 1) arriving.push_back(each);
  }
  from.way->sent.clear();
  std::shuffle(arriving.begin(), arriving.end(), random);
  for (const codec::bytes& each : arriving) to.way->events.on_message(each);
}

TEST(numbered_links, tell_each_message_once_and_in_order_whatever_is_lost_doubled_or_late) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::mt19937_64 random(seed);
    end_of_link driver;
    end_of_link worker;
    std::vector<std::string> said;
    for (int turn = 0; turn < 100 || driver.told != said || worker.told != said; ++turn) {
      ASSERT_LT(turn, 200) << "seed " << seed;
      if (turn < 100) {
        said.push_back(std::to_string(turn));
        driver.say(said.back());
        worker.say(said.back());
      }
      bring_some(driver, worker, random);
      bring_some(worker, driver, random);
      driver.beat();
      worker.beat();
    }
    EXPECT_THAT(driver.losses, IsEmpty());
    EXPECT_THAT(worker.losses, IsEmpty());
  }
}

}  // namespace
}  // namespace troupe::testing
