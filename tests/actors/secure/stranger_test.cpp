// Goal: who does not belong to the run gets nothing, costs a bounded amount, and disturbs nobody.
#include <random>
#include <sstream>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <troupe/tests/actors/secure/link_support.hpp>
#include <troupe/tests/actors/secure/raw_client.hpp>

namespace troupe::testing {
namespace {

/// A driver with a worker that was there before the stranger came.
class strangers : public ::testing::Test {
 protected:
  void expect_service() {
    driver_.answer(message_of("before"));
    EXPECT_EQ(driver_.box().next(), message_of("before"));
    auto newcomer = probe::echo_of(driver_);
    EXPECT_FALSE(driver_.box().has_loss());
  }

  link_end driver_;
  probe worker_ = probe::echo_of(driver_);
};

TEST_F(strangers, a_member_is_welcome) {
  const pem_identity& member = our_run().worker;
  EXPECT_TRUE(tls_visitor(driver_.port(), {our_run().ca_certificate, member}).is_welcome());
  EXPECT_TRUE(tls_visitor(driver_.port(), {{}, member}).is_welcome());
}

TEST_F(strangers, without_our_certificate_get_nothing) {
  EXPECT_FALSE(tls_visitor(driver_.port(), {}).is_welcome());
  EXPECT_FALSE(tls_visitor(driver_.port(), {{}, self_signed()}).is_welcome());
  EXPECT_FALSE(tls_visitor(driver_.port(), {{}, other_run().worker}).is_welcome());
  expect_service();
}

TEST_F(strangers, with_an_old_protocol_get_nothing) {
  for (const int version : {TLS1_VERSION, TLS1_1_VERSION, TLS1_2_VERSION}) {
    EXPECT_FALSE(tls_visitor(driver_.port(), {{}, our_run().worker, version}).is_welcome()) << version;
  }
  expect_service();
}

TEST_F(strangers, who_send_anything_are_closed) {
  std::minstd_rand random(7);
  for (int i = 0; i < 50; ++i) {
    raw_connection stranger(driver_.port());
    std::string bytes;
    for (auto left = random() % 2000 + 5; left > 0; --left) bytes += static_cast<char>(random());
    stranger.say(bytes);
    ::shutdown(stranger.fd(), SHUT_WR);
    EXPECT_TRUE(stranger.is_closed_within(5s));
  }
  expect_service();
}

TEST_F(strangers, who_attack_the_protocol_inside_do_not_reach_it) {
  const std::size_t before = forget_peak();
  for (const std::string& attack : {crashing_header(), greedy_header()}) {
    raw_connection stranger(driver_.port());
    stranger.say(attack);
    const std::string heard = stranger.hear_all(5s);
    EXPECT_LE(heard.size(), 7u) << "more than an alert";
  }
  expect_service();
  EXPECT_LT(peak_memory_kib(), before + 16 * 1024);
}

/// CAF's own port, in a process of its own: what the attacks are about.
struct plain_node {
  probe process{{"plain"}};
  std::uint16_t port = 0;
  std::string pid;

  plain_node() {
    std::istringstream said(process.listener().next_line().value_or(""));
    EXPECT_TRUE(said >> port >> pid);
  }
};

TEST(plain_node, ends_by_a_handshake_without_payload) {
  plain_node plain;
  raw_connection stranger(plain.port);
  stranger.say(crashing_header());
  const auto report = plain.process.listener().await_exit();
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->kind == exit_kind::exited && report->value == 0) << report->describe();
}

TEST(plain_node, allocates_what_a_header_announces) {
  plain_node plain;
  raw_connection stranger(plain.port);
  stranger.say(basp_header(2, 256u << 20, 0, 1, 1));
  EXPECT_TRUE(eventually([&] { return peak_memory_kib(plain.pid) > 200u << 10; }));
}

TEST_F(strangers, who_stay_silent_are_bounded) {
  const std::size_t files = open_descriptors();
  const std::size_t memory = forget_peak();
  // The first 80 bytes of a hello that announces 512.
  const std::string half_hello = std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11) + std::string(69, 'x');
  std::vector<std::unique_ptr<raw_connection>> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(std::make_unique<raw_connection>(driver_.port()));
    if (i % 2 == 0) silent.back()->say(half_hello);
  }
  expect_service();
  EXPECT_LE(open_descriptors(), files + silent.size() + limits::control_strangers_max + 8);
  EXPECT_LT(peak_memory_kib(), memory + 16 * 1024);
  rusage used_before{}, used_after{};
  ::getrusage(RUSAGE_SELF, &used_before);
  EXPECT_FALSE(eventually([] { return false; }, 500ms));
  ::getrusage(RUSAGE_SELF, &used_after);
  // Waiting for them takes no time of a processor.
  const auto us = [](const rusage& used) { return used.ru_utime.tv_sec * 1'000'000 + used.ru_utime.tv_usec; };
  EXPECT_LT(us(used_after) - us(used_before), 250'000);
}

TEST_F(strangers, who_find_no_descriptor_left_do_not_end_the_driver) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer needs descriptors to look at memory";
#endif
  raw_connection first;
  raw_connection second;
  rlimit all{};
  ::getrlimit(RLIMIT_NOFILE, &all);
  rlimit none = all;
  none.rlim_cur = 3;  // for new ones; those that are open stay
  ::setrlimit(RLIMIT_NOFILE, &none);
  first.connect(driver_.port());
  second.connect(driver_.port());
  EXPECT_FALSE(driver_.box().await_loss(3 * limits::control_accept_pause));
  ::setrlimit(RLIMIT_NOFILE, &all);
  expect_service();
}

}  // namespace
}  // namespace troupe::testing
