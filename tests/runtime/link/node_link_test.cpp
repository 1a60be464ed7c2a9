// Goal: messages travel between a node and its driver over TLS whole, in order and once; each end knows who the other
// is; a loss is told once at either end, also of a peer that is frozen; and no untrusted peer disturbs a link. Method:
// drivers on loopback, nodes with loops of their own, and peers that say bytes of their own over TLS.
#include <thread>

#include <gmock/gmock.h>

#include "link_support.hpp"
#include "runtime/edge/tcp/handshake.hpp"
#include "tests/runtime/join/test_job.hpp"
#include "tests/runtime/join/tls_peer.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

/// A node with a loop of its own, as in a process of its own.
class node_process {
 public:
  node_process(std::uint16_t port, const tls_credentials& own) : loop_(std::move(*link_loop::create({}))) {
    auto made = loop_->dial("127.0.0.1", port, own);
    EXPECT_TRUE(made);
    link = *made;
    link->start(news.events());
  }
  void end_loop() { loop_.reset(); }

  noted_news news;

 private:
  std::unique_ptr<link_loop> loop_;

 public:
  std::shared_ptr<message_link> link;
};

/// A driver and one node, linked.
struct linked_node {
  explicit linked_node(const liveness& times = {})
      : job({.times = times}), node(job.endpoint->port(), joined(*job.authority, "gpu-3")) {
    auto told = job.next_link();
    EXPECT_TRUE(told);
    driver = *told;
    driver.link->start(news.events());
  }
  void expect_passing() {
    driver.link->send(message_of("down"));
    EXPECT_EQ(text_of(node.news.next().value_or(codec::bytes{})), "down");
    node.link->send(message_of("up"));
    EXPECT_EQ(text_of(news.next().value_or(codec::bytes{})), "up");
  }

  noted_news news;
  test_job job;
  node_process node;
  node_link driver;
};

TEST(node_link, tells_the_driver_which_node_it_is_and_from_where) {
  linked_node one;
  EXPECT_EQ(one.driver.node, "gpu-3");
  EXPECT_EQ(one.driver.address, "127.0.0.1");
  one.expect_passing();
}

TEST(node_link, joins_by_what_the_node_was_told) {
  test_job job;
  const auto got = join_job(job.ticket("a"), "troupe 1", 20s);
  ASSERT_TRUE(got);
  const node_process node(got->port, got->credentials);
  const auto told = job.next_link();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->node, "a");
}

TEST(node_link, carries_messages_of_any_size_both_ways_in_order) {
  linked_node one;
  std::vector<std::string> texts;
  for (const std::size_t bytes : {0u, 1u, 4075u, 4076u, 4096u, 16'384u, 70'000u, 3u << 20}) {
    texts.emplace_back(bytes, static_cast<char>('a' + texts.size()));
  }
  texts.emplace_back(limits::wire_message_bytes_max, 'z');
  for (const std::string& each : texts) {
    one.node.link->send(message_of(each));
    one.driver.link->send(message_of(each));
  }
  for (const std::string& each : texts) {
    for (noted_news* end : {&one.news, &one.node.news}) {
      const auto got = end->next();
      ASSERT_TRUE(got) << each.size();
      EXPECT_TRUE(text_of(*got) == each) << each.size();
    }
  }
}

TEST(node_link, keeps_what_is_sent_before_the_other_end_has_started) {
  noted_news news;
  test_job job;
  const node_process node(job.endpoint->port(), joined(*job.authority, "a"));
  node.link->send(message_of("early"));
  const auto told = job.next_link();
  ASSERT_TRUE(told);
  told->link->send(message_of("early, too"));
  told->link->start(news.events());
  EXPECT_EQ(text_of(news.next().value_or(codec::bytes{})), "early");
  told->link->close();
}

TEST(node_link, says_nothing_before_the_handshake_however_much_waits) {
  const auto authority = *job_authority::make();
  const auto own = *authority.make_driver_credentials();
  const listening_socket listener;
  node_process node(listener.port(), joined(authority, "a"));
  unique_fd accepted(listener.accept());
  for (int i = 0; i < 1000; ++i) node.link->send(message_of(std::to_string(i)));
  const tls_peer driver(std::move(accepted), own);
  ASSERT_TRUE(driver.has_shaken_hands());
  EXPECT_TRUE(std::holds_alternative<link_frame>(driver.hear()->head));
  driver.say(link_frame{10'000});
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(driver.hear()->payload, std::to_string(i));
}

TEST(node_link, between_idle_ends_is_not_lost) {
  linked_node one(short_times);
  EXPECT_FALSE(one.news.loss(3 * short_times.timeout));
  EXPECT_FALSE(one.node.news.loss(0ms));
  one.expect_passing();
}

// --- the end of a link -----------------------------------------------------------------------------------------------

TEST(closed_node_link, delivers_what_was_sent_and_is_a_loss_at_the_other_end_alone) {
  for (const bool is_driver : {true, false}) {
    linked_node one;
    one.expect_passing();
    noted_news& other = is_driver ? one.node.news : one.news;
    noted_news& own = is_driver ? one.news : one.node.news;
    const auto& link = is_driver ? one.driver.link : one.node.link;
    const std::string large(20u << 20, 'x');  // more than the kernel takes
    link->send(message_of(large));
    link->send(message_of("last"));
    link->close();
    link->send(message_of("after the end"));
    EXPECT_EQ(other.next().value_or(codec::bytes{}).size(), large.size());
    EXPECT_EQ(text_of(other.next().value_or(codec::bytes{})), "last");
    EXPECT_TRUE(other.loss());
    EXPECT_FALSE(other.next(0ms));
    EXPECT_TRUE(eventually([&] { return one.job.endpoint->connections() == 0; }));
    EXPECT_FALSE(own.loss(0ms));
  }
}

TEST(closed_node_link, that_was_never_started_ends_at_the_node) {
  test_job job;
  node_process node(job.endpoint->port(), joined(*job.authority, "a"));
  for (std::uint32_t i = 0; i < limits::link_rejections_max; ++i) {
    const auto told = job.next_link();
    ASSERT_TRUE(told);
    told->link->close();
  }
  const auto why = node.news.loss();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, error_code::wire_handshake);
  EXPECT_THAT(why->cause, HasSubstr("the driver refused"));
}

TEST(lost_node_link, is_told_at_once_when_the_other_process_ends) {
  linked_node one;
  one.expect_passing();
  one.node.end_loop();
  const auto why = one.news.loss(5s);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, error_code::peer_lost);
  one.driver.link->send(message_of("into the void"));
}

TEST(lost_node_link, is_told_to_the_node_when_the_driver_ends) {
  linked_node one;
  one.expect_passing();
  one.job.endpoint->stop();
  const auto why = one.node.news.loss(5s);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, error_code::peer_lost);
  EXPECT_FALSE(one.news.loss(0ms)) << "nothing is told after the end of the endpoint";
  one.driver.link->send(message_of("into the void"));
  one.driver.link->close();
}

TEST(lost_node_link, before_its_start_is_told_at_its_start) {
  noted_news news;
  test_job job;
  node_process node(job.endpoint->port(), joined(*job.authority, "a"));
  const auto told = job.next_link();
  ASSERT_TRUE(told);
  node.end_loop();
  EXPECT_TRUE(eventually([&] { return job.endpoint->connections() == 0; }));
  told->link->start(news.events());
  EXPECT_TRUE(news.loss());
}

TEST(lost_node_link, is_one_to_a_silent_node_after_the_time_out) {
  noted_news news;
  test_job job({.times = short_times});
  const tls_peer frozen(job.endpoint->port(), joined(*job.authority, "a"));
  frozen.say(link_frame{});
  const auto told = job.next_link();
  ASSERT_TRUE(told);
  told->link->start(news.events());
  const auto why = news.loss();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, error_code::peer_lost);
  EXPECT_THAT(why->cause, HasSubstr("silent for 1000 ms"));
}

TEST(lost_node_link, is_one_to_a_silent_driver_after_the_time_that_it_has_said) {
  const auto authority = *job_authority::make();
  const auto own = *authority.make_driver_credentials();
  const listening_socket listener;
  node_process node(listener.port(), joined(authority, "a"));
  const tls_peer driver(unique_fd(listener.accept()), own);
  ASSERT_TRUE(driver.hear());
  driver.say(link_frame{1000});
  const auto why = node.news.loss();
  ASSERT_TRUE(why);
  EXPECT_THAT(why->cause, HasSubstr("silent for 1000 ms"));
}

TEST(lost_node_link, is_one_to_a_node_that_takes_nothing) {
  noted_news news;
  test_job job;
  const tls_peer frozen(job.endpoint->port(), joined(*job.authority, "a"));
  frozen.say(link_frame{});
  const auto told = job.next_link();
  ASSERT_TRUE(told);
  told->link->start(news.events());
  const codec::bytes large(limits::wire_message_bytes_max);
  for (std::size_t sent = 0; sent <= limits::link_bytes_queued_max + 2 * large.size(); sent += large.size()) {
    told->link->send(large);
  }
  const auto why = news.loss();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, "it takes no messages");
}

TEST(lost_node_link, is_the_first_of_two_of_a_node) {
  linked_node one;
  one.expect_passing();
  node_process again(one.job.endpoint->port(), joined(*one.job.authority, "gpu-3"));
  const auto told = one.job.next_link();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->node, "gpu-3");
  const auto why = one.news.loss();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, "its node has made another link");
  EXPECT_TRUE(one.node.news.loss());
  told->link->start({});
  told->link->send(message_of("down"));
  EXPECT_TRUE(again.news.next());
}

// --- who is who ------------------------------------------------------------------------------------------------------

TEST(node_without_driver, is_told_that_it_is_not_reached) {
  const auto authority = *job_authority::make();
  const auto port = listening_socket().port();
  node_process node(port, joined(authority, "a"));
  const auto why = node.news.loss();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, error_code::peer_lost);
  EXPECT_THAT(why->cause, HasSubstr("127.0.0.1:" + std::to_string(port)));
}

TEST(node_that_poses_as_the_driver, gets_no_link) {
  test_job job({.poses_as = "evil"});
  node_process node(job.endpoint->port(), joined(*job.authority, "a"));
  const auto why = node.news.loss();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, error_code::wire_handshake);
  EXPECT_THAT(why->cause, HasSubstr("node evil, expected the driver"));
  EXPECT_TRUE(job.links.empty());
}

TEST(node_of_another_job, gets_no_link) {
  linked_node one;
  const auto other = *job_authority::make();
  tls_credentials forged = joined(other, "gpu-3");
  forged.ca = one.job.authority->certificate();
  node_process node(one.job.endpoint->port(), forged);
  const auto why = node.news.loss();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, error_code::wire_handshake) << to_string(*why);
  EXPECT_THAT(one.job.refused.take()->cause, HasSubstr("TLS handshake"));
  one.expect_passing();
  EXPECT_TRUE(one.job.links.empty());
}

TEST(holder_of_the_drivers_certificate, is_no_node) {
  test_job job;
  node_process node(job.endpoint->port(), *job.authority->make_driver_credentials());
  EXPECT_EQ(node.news.loss()->code, error_code::wire_handshake);
  EXPECT_THAT(job.refused.take()->cause, HasSubstr("it is no node"));
}

TEST(link_loop, dials_no_name_and_with_no_unusable_credentials) {
  const auto loop = *link_loop::create({});
  const auto own = joined(*job_authority::make(), "a");
  EXPECT_EQ(loop->dial("localhost", 1, own).error().code, error_code::config_bad_value);
  EXPECT_EQ(loop->dial("127.0.0.1", 1, {own.certificate, "", own.ca}).error().code, error_code::config_bad_value);
}

TEST(link_loop, ends_at_once_while_a_link_connects) {
  const listening_socket silent;
  node_process node(silent.port(), joined(*job_authority::make(), "a"));
  const unique_fd connected(silent.accept());
  const auto since = std::chrono::steady_clock::now();
  node.end_loop();
  EXPECT_LT(std::chrono::steady_clock::now() - since, 5s);
  EXPECT_FALSE(node.news.loss(0ms));
}

// --- untrusted peers -------------------------------------------------------------------------------------------------

TEST(node_with_a_certificate, that_says_what_cannot_be_is_refused_and_disturbs_no_link) {
  linked_node one;
  const auto evil = joined(*one.job.authority, "evil");
  for (const frame& first : {frame(link_frame{5}), frame(ping_frame{}), frame(control_frame{0}), frame(join_frame{0}),
                             frame(make_hello({key_of(1), 2, {1, 2}, {}}))}) {
    const tls_peer peer(one.job.endpoint->port(), evil);
    peer.say(first);
    EXPECT_EQ(peer.drain(), "");
    EXPECT_TRUE(one.job.refused.take());
  }
  EXPECT_TRUE(one.job.links.empty());
  one.expect_passing();
}

TEST(node_with_a_certificate, that_speaks_before_it_is_answered_loses_its_link) {
  noted_news news;
  test_job job;
  const tls_peer peer(job.endpoint->port(), joined(*job.authority, "a"));
  peer.say(link_frame{});
  peer.say(control_frame{5}, "early");
  EXPECT_EQ(peer.drain(), "");
  const auto told = job.next_link();
  ASSERT_TRUE(told);
  told->link->start(news.events());
  const auto why = news.loss();
  ASSERT_TRUE(why);
  EXPECT_EQ(why->code, error_code::wire_malformed);
  EXPECT_FALSE(news.next(0ms));
}

TEST(node_link, is_dialled_again_while_the_driver_closes_before_its_answer) {
  const auto authority = *job_authority::make();
  const listening_socket listener;
  node_process node(listener.port(), joined(authority, "a"));
  for (std::uint32_t i = 0; i < 2 * limits::link_rejections_max; ++i) unique_fd(listener.accept()).reset();
  const tls_peer driver(unique_fd(listener.accept()), *authority.make_driver_credentials());
  ASSERT_TRUE(driver.has_shaken_hands());
  EXPECT_TRUE(std::holds_alternative<link_frame>(driver.hear()->head));
  driver.say(link_frame{10'000});
  node.link->send(message_of("up"));
  const auto heard = driver.hear();
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->payload, "up");
}

TEST(crowd_of_untrusted_peers, disturbs_no_link) {
  linked_node one(short_times);
  std::vector<unique_fd> half_open;
  std::vector<std::unique_ptr<tls_peer>> silent;
  for (std::size_t i = 0; i < 3 * limits::tcp_untrusted_peers_max; ++i) {
    half_open.push_back(connected_to(one.job.endpoint->port()));
    if (i % 4 == 0) silent.push_back(std::make_unique<tls_peer>(one.job.endpoint->port()));
    const tls_peer garbage(one.job.endpoint->port());
    garbage.say("GET / HTTP/1.1\r\n\r\n");
    one.expect_passing();
  }
  EXPECT_FALSE(one.news.loss(0ms));
  EXPECT_FALSE(one.node.news.loss(0ms));
  node_process another(one.job.endpoint->port(), joined(*one.job.authority, "late"));
  EXPECT_TRUE(one.job.next_link());
}

}  // namespace
}  // namespace troupe::testing
