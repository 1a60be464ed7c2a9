// Goal: a ticket admits its node once, in time, and an untrusted peer learns nothing from a refusal.
#include "runtime/join/ticket_book.hpp"

#include <atomic>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "tests/runtime/join/ticket_samples.hpp"

namespace troupe::testing {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

class ticket_book_of_a_job : public ::testing::Test {
 protected:
  std::atomic<std::int64_t> now{1'000'000};
  std::atomic<int> requests{0};
  ticket_book book{sample_ticket().target, [this] { return now.load(); }};

  /// Every process that joins has a key of its own.
  std::string new_request() { return "request " + std::to_string(++requests); }
  bool admits(const join_ticket& ticket) {
    return book.redeem(ticket.node, ticket.secret.bytes(), new_request()).has_value();
  }
  /// The cause for the log.
  std::string refusal_of(std::string_view node, std::span<const std::uint8_t> secret) {
    const auto redeemed = book.redeem(node, secret, new_request());
    if (redeemed) return "none";
    EXPECT_EQ(redeemed.error().inward.code, error_code::wire_handshake);
    outward.insert(to_string(redeemed.error().outward));
    return redeemed.error().inward.cause;
  }
  std::string refusal_of(const join_ticket& ticket) { return refusal_of(ticket.node, ticket.secret.bytes()); }
  std::set<std::string> outward;
};

TEST_F(ticket_book_of_a_job, issues_tickets_that_are_whole_and_different) {
  const auto a = *book.issue("a", seconds(60));
  const auto b = *book.issue("b", seconds(60));
  EXPECT_EQ(a.target.addresses, sample_ticket().target.addresses);
  EXPECT_EQ(a.target.authority, sample_ticket().target.authority);
  EXPECT_EQ(a.node, "a");
  EXPECT_EQ(a.issued_unix_seconds, 1'000'000);
  EXPECT_EQ(a.expires_unix_seconds, 1'000'060);
  EXPECT_EQ(a.lifetime(), std::chrono::seconds(60));
  EXPECT_FALSE(std::ranges::equal(a.secret.bytes(), b.secret.bytes()));
  EXPECT_TRUE(to_text(a));
}

TEST_F(ticket_book_of_a_job, admits_each_node_once) {
  const auto a = *book.issue("a", seconds(60));
  const auto b = *book.issue("b", seconds(60));
  EXPECT_TRUE(admits(a));
  EXPECT_EQ(refusal_of(a), "its ticket was redeemed before");
  EXPECT_TRUE(admits(b));
}

TEST_F(ticket_book_of_a_job, admits_the_same_request_again_until_the_ticket_expires) {
  const auto a = *book.issue("a", seconds(60));
  EXPECT_TRUE(book.redeem("a", a.secret.bytes(), "one"));
  EXPECT_TRUE(book.redeem("a", a.secret.bytes(), "one"));
  EXPECT_FALSE(book.redeem("a", a.secret.bytes(), "two"));
  std::vector<std::uint8_t> wrong(a.secret.bytes().begin(), a.secret.bytes().end());
  wrong[0] ^= 1;
  EXPECT_FALSE(book.redeem("a", wrong, "one")) << "a request is no secret";
  now = 1'000'060;
  EXPECT_FALSE(book.redeem("a", a.secret.bytes(), "one"));
}

TEST_F(ticket_book_of_a_job, checks_a_ticket_without_using_it) {
  const auto a = *book.issue("a", seconds(60));
  const auto b = *book.issue("b", seconds(60));
  EXPECT_TRUE(book.check("a", a.secret.bytes()));
  EXPECT_FALSE(book.check("a", b.secret.bytes()));
  EXPECT_TRUE(admits(a));
  EXPECT_FALSE(book.check("a", a.secret.bytes()));
}

TEST_F(ticket_book_of_a_job, ends_a_ticket_at_the_second_of_its_expiry) {
  const auto a = *book.issue("a", seconds(60));
  const auto b = *book.issue("b", seconds(60));
  now = 1'000'060;
  EXPECT_EQ(refusal_of(a), "its ticket expired 0 s ago");
  now = 1'000'059;
  EXPECT_TRUE(admits(b));
}

TEST_F(ticket_book_of_a_job, admits_no_node_with_the_secret_of_another) {
  const auto a = *book.issue("a", seconds(60));
  const auto b = *book.issue("b", seconds(60));
  EXPECT_THAT(refusal_of("a", b.secret.bytes()), HasSubstr("wrong secret"));
  EXPECT_EQ(refusal_of("c", a.secret.bytes()), "no ticket was issued for it");
  EXPECT_TRUE(admits(a));
}

TEST_F(ticket_book_of_a_job, accepts_the_exact_secret_alone) {
  const auto ticket = *book.issue("a", seconds(60));
  const auto secret = ticket.secret.bytes();
  std::vector<std::uint8_t> longer(secret.begin(), secret.end());
  longer.push_back(0);
  EXPECT_THAT(refusal_of("a", longer), HasSubstr("wrong secret"));
  EXPECT_THAT(refusal_of("a", secret.first(31)), HasSubstr("wrong secret"));
  EXPECT_THAT(refusal_of("a", {}), HasSubstr("wrong secret"));
  longer.pop_back();
  longer.back() ^= 1;
  EXPECT_THAT(refusal_of("a", longer), HasSubstr("wrong secret"));
  EXPECT_TRUE(admits(ticket));
}

TEST_F(ticket_book_of_a_job, keeps_a_ticket_whatever_untrusted_peers_try) {
  const auto a = *book.issue("a", seconds(60));
  const auto b = *book.issue("b", seconds(60));
  for (int i = 0; i < 1000; ++i) refusal_of("a", b.secret.bytes());
  EXPECT_TRUE(admits(a));
}

TEST_F(ticket_book_of_a_job, replaces_a_ticket_redeemed_or_not) {
  const auto first = *book.issue("a", seconds(60));
  const auto second = *book.replace("a", seconds(60));
  EXPECT_THAT(refusal_of(first), HasSubstr("wrong secret"));
  EXPECT_TRUE(admits(second));
  const auto third = *book.replace("a", seconds(60));
  EXPECT_THAT(refusal_of(second), HasSubstr("wrong secret"));
  EXPECT_TRUE(admits(third));
}

TEST_F(ticket_book_of_a_job, tells_untrusted_peers_the_same_for_every_cause) {
  const auto used = *book.issue("used", seconds(60));
  EXPECT_TRUE(admits(used));
  const auto old = *book.issue("old", seconds(1));
  const auto open = *book.issue("open", seconds(60));
  now += 1;
  std::set<std::string> inward = {refusal_of(used), refusal_of(old), refusal_of("unknown", open.secret.bytes()),
                                  refusal_of("", {}), refusal_of("open", used.secret.bytes())};
  EXPECT_EQ(inward.size(), 4u);
  EXPECT_EQ(outward.size(), 1u);
  const auto forged_line = book.redeem("a\nerror: all is well", {}, {});
  EXPECT_EQ(to_string(forged_line.error().inward).find("all is well"), std::string::npos);
  EXPECT_EQ(to_string(forged_line.error().outward), *outward.begin());
}

TEST_F(ticket_book_of_a_job, issues_nothing_against_its_rules) {
  EXPECT_EQ(book.replace("a", seconds(60)).error().code, error_code::config_bad_value);
  ASSERT_TRUE(book.issue("a", seconds(60)));
  EXPECT_EQ(book.issue("a", seconds(60)).error().code, error_code::config_bad_value);
  EXPECT_EQ(book.issue("b c", seconds(60)).error().code, error_code::config_bad_value);
  for (const seconds lifetime : {seconds(0), seconds(-1), seconds(30 * 24 * 3600 + 1), seconds::max(), seconds::min()})
    EXPECT_EQ(book.issue("b", lifetime).error().code, error_code::config_bad_value);
  for (std::size_t i = 1; i < limits::join_tickets_max; ++i)
    ASSERT_TRUE(book.issue("node" + std::to_string(i), seconds(60)));
  EXPECT_EQ(book.issue("b", seconds(60)).error().code, error_code::queue_full);
  EXPECT_TRUE(book.replace("a", seconds(60)));
}

TEST_F(ticket_book_of_a_job, admits_one_of_many_threads) {
  for (int round = 0; round < 50; ++round) {
    const auto ticket = *book.issue("node" + std::to_string(round), seconds(60));
    std::atomic<int> admitted = 0;
    std::atomic<bool> is_begun = false;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        while (!is_begun) std::this_thread::yield();
        if (admits(ticket)) ++admitted;
      });
    }
    is_begun = true;
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(admitted, 1);
  }
}

TEST_F(ticket_book_of_a_job, replaces_while_others_redeem) {
  const auto first = *book.issue("a", seconds(60));
  std::atomic<int> admitted = 0;
  std::thread redeeming([&] { admitted += admits(first) ? 1 : 0; });
  const auto second = *book.replace("a", seconds(60));
  redeeming.join();
  EXPECT_LE(admitted, 1);
  EXPECT_TRUE(admits(second));
  EXPECT_FALSE(admits(first));
}

}  // namespace
}  // namespace troupe::testing
