// Goal: a node goes on joining while its driver has no room for it, ends after some refusals, and names clocks that
// differ. Method: a driver of the test's own that closes before TLS, within it and after the request; clocks of nodes
// that are wrong by hours and days.
#include <thread>

#include <gmock/gmock.h>

#include "runtime/join/join_exchange.hpp"
#include "tests/runtime/join/test_job.hpp"
#include "tests/runtime/join/tls_peer.hpp"

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* own_version = "troupe 1";

TEST(joining, goes_on_while_the_driver_closes_for_want_of_room_however_often) {
  // Before TLS, in its middle, and when the request was heard, each more often than a driver may refuse.
  const auto authority = std::make_shared<const job_authority>(*job_authority::make());
  const auto own = *authority->make_driver_credentials();
  listening_socket listener;
  const auto tickets =
      std::make_shared<ticket_book>(join_target{{"127.0.0.1"}, listener.port(), authority->fingerprint()});
  const auto ticket = *tickets->issue("a", std::chrono::seconds(60));
  std::uint32_t closed = 0;
  std::thread driver([&] {
    for (; closed < 2 * limits::join_refusals_max; ++closed) {
      unique_fd accepted(listener.accept());
      if (closed % 2 == 0) continue;
      const tls_peer peer(std::move(accepted), own);
      EXPECT_TRUE(peer.hear());
    }
    const tls_peer peer(unique_fd(listener.accept()), own);
    const auto heard = peer.hear();
    ASSERT_TRUE(heard);
    const auto asked = read_join_request(std::as_bytes(std::span(heard->payload)));
    ASSERT_TRUE(asked);
    const auto answer =
        to_bytes(join_answer{own_version, *authority->issue(asked->request, "a"), authority->certificate()});
    peer.say(join_frame{answer->view().size()}, answer->view());
    EXPECT_EQ(peer.drain(), "");
  });
  const auto got = join_job(ticket, own_version, 60s);
  driver.join();
  EXPECT_TRUE(got) << to_string(got.error());
}

TEST(joining, is_given_up_after_some_refusals_that_the_driver_says_over_tls) {
  test_job job;
  auto ticket = job.ticket("a");
  ticket.secret = *join_secret::make();
  const auto got = join_job(ticket, own_version, 60s);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::wire_handshake);
  EXPECT_TRUE(eventually([&] { return job.refused.count() == limits::join_refusals_max; })) << job.refused.count();
}

TEST(joining, names_at_once_by_how_much_the_clocks_differ) {
  struct difference {
    std::int64_t seconds;
    const char* told;
  };
  for (const auto& [seconds, told] : {difference{-25 * 3600, "this node's clock is 25 h behind the driver's"},
                                      difference{31 * 86400, "this node's clock is 31 days ahead of the driver's"}}) {
    test_job job;
    job.now = unix_now();
    const auto ticket = job.ticket("a");
    const auto since = std::chrono::steady_clock::now();
    const auto got = join_job(ticket, own_version, 60s, [by = seconds] { return unix_now() + by; });
    ASSERT_FALSE(got);
    EXPECT_LT(std::chrono::steady_clock::now() - since, 20s);
    EXPECT_EQ(got.error().code, error_code::wire_handshake);
    EXPECT_THAT(got.error().cause, AllOf(HasSubstr("certificate is not valid now"), HasSubstr(told)));
    EXPECT_THAT(got.error().fix, HasSubstr("clocks"));
  }
}

TEST(joining, works_while_the_clocks_differ_less_than_the_certificates_are_valid) {
  for (const std::int64_t by : {-23 * 3600, 29 * 86400}) {
    test_job job;
    job.now = unix_now();
    const auto got = join_job(job.ticket("a"), own_version, 60s, [by] { return unix_now() + by; });
    EXPECT_TRUE(got) << to_string(got.error());
  }
}

}  // namespace
}  // namespace troupe::testing
