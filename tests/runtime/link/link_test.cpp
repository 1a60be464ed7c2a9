// Goal: messages travel over a link whole, in order and once, both ways; its loss is told once, with the cause, and
// nothing after it; and its loop ends at once. Method: both ends in one process, each with a loop of its own, and peers
// that say bytes of their own.
#include <filesystem>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "link_support.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

struct pair_of_ends {
  explicit pair_of_ends(const liveness& times = {})
      : sockets(std::move(*make_link_sockets())),
        driver(std::move(sockets.first), link_side::driver, times),
        worker(std::move(sockets.second), link_side::worker, times) {}
  std::pair<unique_fd, unique_fd> sockets;
  link_process driver;
  link_process worker;
};

/// A driver and something else in the place of its worker.
struct driver_and_peer {
  explicit driver_and_peer(const liveness& times = {})
      : sockets(std::move(*make_link_sockets())),
        peer(std::move(sockets.second)),
        driver(std::move(sockets.first), link_side::driver, times) {}
  std::pair<unique_fd, unique_fd> sockets;
  raw_peer peer;
  link_process driver;
};

TEST(link, carries_messages_of_any_size_both_ways_in_order) {
  pair_of_ends ends;
  std::vector<std::string> texts;
  for (const std::size_t bytes : {0u, 1u, 127u, 4075u, 4076u, 4096u, 4097u, 70'000u, 3u << 20}) {
    texts.emplace_back(bytes, static_cast<char>('a' + texts.size()));
  }
  for (const std::string& each : texts) {
    ends.worker.link->send(message_of(each));
    ends.driver.link->send(message_of(each));
  }
  for (const std::string& each : texts) {
    for (link_process* end : {&ends.driver, &ends.worker}) {
      const auto got = end->news.next();
      ASSERT_TRUE(got) << each.size();
      EXPECT_EQ(text_of(*got), each);
    }
  }
}

TEST(link, carries_the_largest_message) {
  pair_of_ends ends;
  const std::string largest(limits::wire_message_bytes_max, 'x');
  ends.worker.link->send(message_of(largest));
  const auto got = ends.driver.news.next();
  ASSERT_TRUE(got);
  EXPECT_EQ(text_of(*got), largest);
}

TEST(link, keeps_the_order_of_each_thread_that_sends) {
  pair_of_ends ends;
  constexpr int each = 500;
  std::vector<std::thread> threads;
  for (char name = 'a'; name < 'd'; ++name) {
    threads.emplace_back([&, name] {
      for (int i = 0; i < each; ++i) ends.worker.link->send(message_of(name + std::to_string(i)));
    });
  }
  std::map<char, int> next;
  for (int i = 0; i < 3 * each; ++i) {
    const auto got = ends.driver.news.next();
    ASSERT_TRUE(got);
    const std::string text = text_of(*got);
    EXPECT_EQ(text.substr(1), std::to_string(next[text.at(0)]++));
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(link, waits_for_the_first_word_longer_than_for_any_other) {
  auto sockets = std::move(*make_link_sockets());
  link_process driver(std::move(sockets.first), link_side::driver, short_times);
  driver.link->send(message_of("early"));
  EXPECT_FALSE(driver.news.loss(2 * short_times.timeout));
  link_process worker(std::move(sockets.second), link_side::worker, short_times);
  EXPECT_EQ(text_of(worker.news.next().value_or(codec::bytes{})), "early");
  worker.link->send(message_of("late"));
  EXPECT_EQ(text_of(driver.news.next().value_or(codec::bytes{})), "late");
}

TEST(link, between_idle_ends_is_not_lost) {
  pair_of_ends ends(short_times);
  ends.worker.link->send(message_of("first"));
  EXPECT_TRUE(ends.driver.news.next());
  EXPECT_FALSE(ends.driver.news.loss(3 * short_times.timeout));
  EXPECT_FALSE(ends.worker.news.loss(0ms));
  ends.driver.link->send(message_of("still there"));
  EXPECT_TRUE(ends.worker.news.next());
}

// --- losses ----------------------------------------------------------------------------------------------------------

TEST(lost_link, is_told_at_once_when_the_other_end_is_closed) {
  pair_of_ends ends;
  ends.worker.link->send(message_of("last words"));
  EXPECT_TRUE(ends.driver.news.next());
  ends.worker.end_loop();
  const auto why = ends.driver.news.loss(2s);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, error_code::peer_lost);
  EXPECT_EQ(why->where, "control plane");
  EXPECT_FALSE(why->fix.empty());
  ends.driver.link->send(message_of("after the loss"));
}

TEST(lost_link, is_told_of_a_silent_end_after_the_time_out) {
  driver_and_peer ends(short_times);
  ends.peer.greet();
  EXPECT_TRUE(ends.peer.hears_something());
  const auto since = std::chrono::steady_clock::now();
  const auto why = ends.driver.news.loss();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, error_code::peer_lost);
  EXPECT_THAT(why->cause, HasSubstr("silent for 1000 ms"));
  EXPECT_GE(std::chrono::steady_clock::now() - since, short_times.timeout - 2 * short_times.heartbeat());
}

TEST(lost_link, is_told_to_a_worker_whose_driver_says_nothing) {
  auto sockets = std::move(*make_link_sockets());
  link_process worker(std::move(sockets.second), link_side::worker, short_times);
  EXPECT_TRUE(worker.news.loss());
}

struct nonsense {
  const char* name;
  error_code code;
  std::string bytes;
};

class said : public ::testing::TestWithParam<nonsense> {};

std::string frame_text(const frame& head) {
  const auto bytes = encode_head(head);
  return {reinterpret_cast<const char*>(bytes.view().data()), bytes.view().size()};
}
std::string changed(std::string text, std::size_t at, char to) {
  text.at(at) = to;
  return text;
}

TEST_P(said, ends_the_link_with_its_cause_and_tells_nothing) {
  for (const bool is_first : {true, false}) {
    driver_and_peer ends;
    if (!is_first) ends.peer.greet();
    ends.peer.say(GetParam().bytes);
    const auto why = ends.driver.news.loss();
    ASSERT_TRUE(why);
    EXPECT_EQ(why->code, GetParam().code) << to_string(*why);
    EXPECT_FALSE(ends.driver.news.next(0ms));
  }
}

INSTANTIATE_TEST_SUITE_P(
    nonsense, said,
    ::testing::Values(nonsense{"http", error_code::wire_malformed, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"},
                      nonsense{"version", error_code::wire_wrong_version, changed(frame_text(ping_frame{}), 5, 1)},
                      nonsense{"bit", error_code::wire_checksum, changed(frame_text(ping_frame{}), 16, 1)},
                      nonsense{"edge", error_code::wire_malformed, frame_text(credit_frame{3})},
                      nonsense{"large", error_code::wire_too_large,
                               changed(frame_text(control_frame{limits::wire_message_bytes_max}), 12, 5)}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(lost_link, is_one_whose_first_frame_is_no_greeting_but_large) {
  driver_and_peer ends;
  ends.peer.say(control_frame{1u << 20});
  const auto why = ends.driver.news.loss();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, error_code::wire_too_large) << "no memory before the greeting";
}

TEST(lost_link, is_one_that_takes_nothing) {
  driver_and_peer ends;
  ends.peer.greet();
  EXPECT_TRUE(ends.peer.hears_something());
  const codec::bytes large(limits::wire_message_bytes_max);
  for (std::size_t sent = 0; sent <= limits::link_bytes_queued_max + 2 * large.size(); sent += large.size()) {
    ends.driver.link->send(large);
  }
  const auto why = ends.driver.news.loss();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, "it takes no messages");
}

// --- the end of a process --------------------------------------------------------------------------------------------

TEST(ended_peer, is_told_after_all_that_it_has_said_and_not_as_a_loss) {
  driver_and_peer ends;
  ends.peer.greet();
  for (const char* each : {"one", "two"}) ends.peer.say(control_frame{3}, each);
  ends.peer.close();
  ends.driver.link->peer_has_ended([&] { ends.driver.news.note_end(); });
  EXPECT_TRUE(ends.driver.news.has_ended());
  EXPECT_EQ(text_of(ends.driver.news.next(0ms).value_or(codec::bytes{})), "one");
  EXPECT_EQ(text_of(ends.driver.news.next(0ms).value_or(codec::bytes{})), "two");
}

TEST(ended_peer, is_told_although_its_link_was_lost_before) {
  driver_and_peer ends;
  ends.peer.close();
  EXPECT_TRUE(ends.driver.news.loss());
  ends.driver.link->peer_has_ended([&] { ends.driver.news.note_end(); });
  EXPECT_TRUE(ends.driver.news.has_ended());
}

TEST(ended_peer, is_told_while_another_process_holds_its_socket) {
  driver_and_peer ends;
  ends.peer.greet();
  const unique_fd heir = ends.peer.twin();
  ends.peer.close();
  ends.driver.link->peer_has_ended([&] { ends.driver.news.note_end(); });
  EXPECT_TRUE(ends.driver.news.has_ended());
  EXPECT_FALSE(ends.driver.news.loss(0ms));
}

// --- the end of a loop -----------------------------------------------------------------------------------------------

TEST(link_loop, ends_at_once_beside_a_peer_that_has_not_read_all_and_tells_nothing) {
  driver_and_peer ends;
  ends.peer.greet();
  EXPECT_TRUE(ends.peer.hears_something());
  ends.driver.link->send(codec::bytes(32u << 20));  // more than the kernel takes
  const auto since = std::chrono::steady_clock::now();
  ends.driver.end_loop();
  EXPECT_LT(std::chrono::steady_clock::now() - since, 2s);
  EXPECT_FALSE(ends.driver.news.loss(0ms));
  ends.driver.link->send(message_of("into the void"));
  ends.driver.link->peer_has_ended([] { ADD_FAILURE() << "the loop has ended"; });
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST(link_loop, leaves_no_descriptor) {
  const auto before = open_descriptors();
  for (int i = 0; i < 10; ++i) {
    pair_of_ends ends;
    ends.worker.link->send(message_of("hello"));
    EXPECT_TRUE(ends.driver.news.next());
    auto unused = std::move(*make_link_sockets());
    const auto loop = std::move(*link_loop::create({}));
    static_cast<void>(loop->open(std::move(unused.first), link_side::driver));  // never started
  }
  EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
}  // namespace troupe::testing
