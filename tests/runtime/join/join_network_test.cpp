// Goal: a node with a right ticket of this job becomes one of its nodes, once; any other peer gets a closed connection
// and learns nothing; and a node tells its secret to no one but its driver. Method: drivers on loopback and nodes that
// join; peers that say bytes of their own over TLS; the driver's log of refusals.
#include <thread>

#include <gmock/gmock.h>

#include "runtime/edge/tcp/handshake.hpp"
#include "runtime/join/join_exchange.hpp"
#include "tests/runtime/join/test_job.hpp"
#include "tests/runtime/join/tls_peer.hpp"

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* version = "troupe 1";

TEST(joining, gives_a_node_its_certificate_and_where_the_driver_is) {
  test_job job;
  const auto got = join_job(job.ticket("gpu-3"), version, 20s);
  ASSERT_TRUE(got) << to_string(got.error());
  EXPECT_EQ(got->node, "gpu-3");
  EXPECT_EQ(got->address, "127.0.0.1");
  EXPECT_EQ(got->port, job.endpoint->port());
  EXPECT_EQ(got->own_address, "127.0.0.1");
  EXPECT_EQ(got->credentials.ca, job.authority->certificate());
  const auto hands = shake_hands(got->credentials, *job.authority->make_driver_credentials());
  EXPECT_TRUE(hands.both_accepted);
  EXPECT_EQ(hands.server_sees, "troupe:node:gpu-3");
  EXPECT_TRUE(eventually([&] { return job.endpoint->connections() == 0; }));
  EXPECT_EQ(job.refused.count(), 0u);
}

TEST(joining, goes_on_past_addresses_that_are_none_and_untrusted_peers_that_listen) {
  test_job job;
  test_job other;
  join_ticket ticket = job.ticket("a");
  ticket.target.addresses = {"no-such-host.invalid", "127.0.0.9", "localhost"};
  const auto got = join_job(ticket, version, 20s);
  ASSERT_TRUE(got) << to_string(got.error());
  EXPECT_THAT(got->address, ::testing::AnyOf("127.0.0.1", "::1"));
}

TEST(joining, waits_for_a_driver_that_does_not_listen_yet) {
  const auto port = listening_socket().port();
  const auto authority = std::make_shared<const job_authority>(*job_authority::make());
  const auto tickets = std::make_shared<ticket_book>(join_target{{"127.0.0.1"}, port, authority->fingerprint()});
  const auto ticket = *tickets->issue("a", std::chrono::seconds(60));
  expected<joined_node> got = fail(error_code::internal, "", "");
  std::thread node([&] { got = join_job(ticket, version, 20s); });
  tcp_endpoint_options options;
  options.port = port;
  options.tls = *authority->make_driver_credentials();
  options.node_of = node_of;
  options.joins = make_join_service({tickets, authority, version});
  const auto endpoint = must_open(std::move(options));
  node.join();
  EXPECT_TRUE(got) << to_string(got.error());
}

TEST(joining, gives_up_in_time_where_no_driver_is) {
  test_job job;
  const join_ticket ticket = job.ticket("a");
  job.endpoint->stop();
  const listening_socket silent;
  for (const std::uint16_t port : {job.endpoint->port(), silent.port()}) {
    join_ticket there = ticket;
    there.target.port = port;
    const auto since = std::chrono::steady_clock::now();
    const auto got = join_job(there, version, 300ms);
    ASSERT_FALSE(got);
    EXPECT_THAT(got.error().cause, HasSubstr("not joined within 300 ms"));
    EXPECT_THAT(got.error().where, HasSubstr("127.0.0.1:"));
    EXPECT_FALSE(got.error().fix.empty());
    EXPECT_LT(std::chrono::steady_clock::now() - since, limits::join_attempt_timeout);
  }
}

// --- tickets that are not right --------------------------------------------------------------------------------------

struct wrong_ticket {
  const char* name;
  const char* logged;
  join_ticket (*of)(test_job& job);
};

class wrong : public ::testing::TestWithParam<wrong_ticket> {};

TEST_P(wrong, ticket_gets_a_closed_connection_and_the_driver_the_cause) {
  test_job job;
  const join_ticket ticket = GetParam().of(job);
  const auto got = join_job(ticket, version, 20s);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::wire_handshake) << to_string(got.error());
  EXPECT_THAT(to_string(got.error()), AllOf(HasSubstr("closed the connection"), Not(HasSubstr(GetParam().logged))));
  const auto told = job.refused.take();
  ASSERT_TRUE(told);
  EXPECT_THAT(told->cause, HasSubstr(GetParam().logged));
  EXPECT_THAT(told->where, HasSubstr("peer 127.0.0.1:"));
}

INSTANTIATE_TEST_SUITE_P(tickets, wrong,
                         ::testing::Values(wrong_ticket{"expired", "node a: its ticket expired 0 s ago",
                                                        [](test_job& job) {
                                                          const auto ticket = job.ticket("a");
                                                          job.now += 60;
                                                          return ticket;
                                                        }},
                                           wrong_ticket{"used", "node a: its ticket was redeemed before",
                                                        [](test_job& job) {
                                                          const auto ticket = job.ticket("a");
                                                          EXPECT_TRUE(join_job(ticket, version, 20s));
                                                          return ticket;
                                                        }},
                                           wrong_ticket{"secret", "node a: wrong secret",
                                                        [](test_job& job) {
                                                          auto ticket = job.ticket("a");
                                                          ticket.secret = *join_secret::make();
                                                          return ticket;
                                                        }},
                                           wrong_ticket{"of_another_node", "node b: wrong secret",
                                                        [](test_job& job) {
                                                          static_cast<void>(job.ticket("b"));
                                                          auto ticket = job.ticket("a");
                                                          ticket.node = "b";
                                                          return ticket;
                                                        }},
                                           wrong_ticket{"unknown_node", "node c: no ticket was issued",
                                                        [](test_job& job) {
                                                          auto ticket = job.ticket("a");
                                                          ticket.node = "c";
                                                          return ticket;
                                                        }}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(joining, with_another_version_is_told_both_and_leaves_the_ticket_as_it_was) {
  test_job job({.version = "troupe 2"});
  const join_ticket ticket = job.ticket("a");
  const auto got = join_job(ticket, version, 20s);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::worker_mismatch);
  EXPECT_EQ(got.error().where, "node a");
  EXPECT_EQ(got.error().cause, "it runs troupe 1, and the driver troupe 2");
  const auto told = job.refused.take();
  ASSERT_TRUE(told);
  EXPECT_EQ(to_string(*told), to_string(got.error()));
  EXPECT_TRUE(join_job(ticket, "troupe 2", 20s));
}

TEST(joining, with_another_version_and_a_wrong_secret_is_told_nothing) {
  test_job job({.version = "troupe 2"});
  join_ticket ticket = job.ticket("a");
  ticket.secret = *join_secret::make();
  const auto got = join_job(ticket, version, 20s);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::wire_handshake);
  EXPECT_THAT(to_string(got.error()), Not(HasSubstr("troupe 2")));
}

// --- who gets the secret ---------------------------------------------------------------------------------------------

TEST(joining, tells_the_secret_to_no_driver_of_another_job) {
  test_job job;
  test_job other;
  join_ticket ticket = job.ticket("a");
  ticket.target.port = other.endpoint->port();
  const auto got = join_job(ticket, version, 300ms);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::wire_handshake);
  EXPECT_THAT(got.error().cause, HasSubstr("not the one of the join ticket"));
  const auto told = other.refused.take();
  ASSERT_TRUE(told);
  EXPECT_THAT(told->cause, Not(HasSubstr("join request")));
}

TEST(joining, tells_the_secret_to_no_node_that_poses_as_the_driver) {
  test_job job({.poses_as = "evil"});
  const auto got = join_job(job.ticket("a"), version, 300ms);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::wire_handshake);
  EXPECT_THAT(got.error().cause, HasSubstr("node evil, expected the driver"));
  const auto told = job.refused.take();
  ASSERT_TRUE(told);
  EXPECT_THAT(told->cause, Not(HasSubstr("join request")));
}

TEST(joining, tells_the_secret_to_no_server_that_only_has_the_certificate_of_the_authority) {
  test_job job;
  tls_credentials posing = *job_authority::make()->make_driver_credentials();
  posing.ca = job.authority->certificate();
  const listening_socket thief;
  join_ticket ticket = job.ticket("a");
  ticket.target.port = thief.port();
  std::optional<std::string> heard;
  std::thread server([&] {
    const tls_peer peer(unique_fd(thief.accept()), posing);
    heard = peer.drain();
  });
  const auto got = join_job(ticket, version, 300ms);
  server.join();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::wire_handshake);
  EXPECT_THAT(got.error().cause, HasSubstr("none of the authority"));
  EXPECT_EQ(heard, "");
}

// --- peers without a ticket ------------------------------------------------------------------------------------------

std::string request_text(const join_ticket& ticket, const std::string& request) {
  const auto bytes = to_bytes(join_request{version, ticket.node, ticket.secret, request});
  return std::string(bytes->view());
}

TEST(peer_without_certificate, gets_nothing_but_the_end_whatever_it_says) {
  test_job job;
  const auto ticket = job.ticket("a");
  const std::string request = request_text(ticket, "no request");
  const std::vector<std::pair<frame, std::string>> texts = {
      {link_frame{}, ""},
      {make_hello({key_of(1), 2, {1, 2}, {}}), ""},
      {ping_frame{}, ""},
      {control_frame{5}, "hello"},
      {join_frame{0}, ""},
      {join_frame{3}, "abc"},
      {join_frame{limits::join_message_bytes_max}, std::string(limits::join_message_bytes_max, '\xff')},
      {join_frame{request.size() + 1}, request + "x"},
      {join_frame{request.size() - 1}, request.substr(0, request.size() - 1)},
      {join_frame{request.size()}, request}};
  for (const auto& [head, payload] : texts) {
    const tls_peer peer(job.endpoint->port());
    EXPECT_TRUE(peer.has_shaken_hands());
    peer.say(head, payload);
    EXPECT_EQ(peer.drain(), "");
    EXPECT_TRUE(job.refused.take());
  }
  const tls_peer garbage(job.endpoint->port());
  garbage.say(std::string(10'000, 'x'));
  EXPECT_EQ(garbage.drain(), "");
  EXPECT_THAT(job.refused.take()->cause, HasSubstr("E0702"));
}

TEST(peer_without_certificate, gets_no_memory_for_a_request_beyond_the_limit) {
  test_job job;
  const tls_peer peer(job.endpoint->port());
  auto head = encode_head(join_frame{limits::join_message_bytes_max});
  head.view()[14] = std::byte{0xff};  // of the payload's length
  peer.say({reinterpret_cast<const char*>(head.view().data()), head.view().size()});
  EXPECT_EQ(peer.drain(), "");
  EXPECT_THAT(job.refused.take()->cause, HasSubstr("E0701"));
}

TEST(peer_without_certificate, that_is_slow_or_silent_is_closed_at_the_deadline) {
  test_job job({.handshake = 300ms});
  const tls_peer silent(job.endpoint->port());
  const tls_peer slow(job.endpoint->port());
  slow.say(join_frame{1000}, std::string(999, 'x'));
  EXPECT_EQ(silent.drain(), "");
  EXPECT_EQ(slow.drain(), "");
  for (int i = 0; i < 2; ++i) EXPECT_THAT(job.refused.take()->cause, HasSubstr("no handshake within 300 ms"));
  EXPECT_TRUE(join_job(job.ticket("a"), version, 20s));
}

TEST(peer_with_certificate, cannot_join_again) {
  test_job job;
  const auto ticket = job.ticket("b");
  const tls_peer peer(job.endpoint->port(), joined(*job.authority, "a"));
  const std::string request = request_text(ticket, *node_identity::make()->request());
  peer.say(join_frame{request.size()}, request);
  EXPECT_EQ(peer.drain(), "");
  EXPECT_TRUE(job.refused.take());
  EXPECT_TRUE(join_job(ticket, version, 20s));
}

TEST(lost_answer, is_given_again_for_the_same_request_and_for_no_other) {
  test_job job;
  const auto ticket = job.ticket("a");
  const auto identity = *node_identity::make();
  const std::string request = request_text(ticket, *identity.request());
  std::optional<join_answer> answer;
  for (int i = 0; i < 2; ++i) {
    const tls_peer peer(job.endpoint->port());
    ASSERT_TRUE(peer.say(join_frame{request.size()}, request));
    const auto heard = peer.hear();
    ASSERT_TRUE(heard);
    answer = *read_join_answer(std::as_bytes(std::span(heard->payload)));
  }
  EXPECT_TRUE(identity.credentials(answer->certificate, answer->authority, *peer_name::of_node("a")));
  EXPECT_FALSE(join_job(ticket, version, 20s)) << "with a key of its own";
}

TEST(crowd_of_untrusted_peers, keeps_no_node_out) {
  test_job job;
  std::vector<unique_fd> half_open;
  std::vector<std::unique_ptr<tls_peer>> silent;
  for (std::size_t i = 0; i < 2 * limits::tcp_untrusted_peers_max; ++i) {
    half_open.push_back(connected_to(job.endpoint->port()));
    if (i % 2 == 0) silent.push_back(std::make_unique<tls_peer>(job.endpoint->port()));
  }
  const auto got = join_job(job.ticket("a"), version, 20s);
  EXPECT_TRUE(got) << to_string(got.error());
  EXPECT_LE(job.endpoint->connections(), limits::tcp_untrusted_peers_max + 1);
}

TEST(join_exchange, is_read_whole_or_not_at_all) {
  const join_request said{version, "a", *join_secret::make(), "request"};
  const auto bytes = *to_bytes(said);
  const auto all = std::as_bytes(std::span(bytes.view()));
  const auto read = read_join_request(all);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->version, said.version);
  EXPECT_EQ(read->node, said.node);
  EXPECT_TRUE(std::ranges::equal(read->secret.bytes(), said.secret.bytes()));
  EXPECT_EQ(read->request, said.request);
  for (std::size_t size = 0; size < all.size(); ++size) EXPECT_FALSE(read_join_request(all.first(size)));
  const auto answer = *to_bytes(join_answer{version, "certificate", "authority"});
  const auto answered = std::as_bytes(std::span(answer.view()));
  EXPECT_EQ(read_join_answer(answered)->authority, "authority");
  for (std::size_t size = 0; size < answered.size(); ++size) EXPECT_FALSE(read_join_answer(answered.first(size)));
  EXPECT_FALSE(to_bytes(join_answer{version, std::string(limits::join_message_bytes_max, 'x'), ""}));
  for (const std::string& text : {std::string(), std::string("a\nb"), std::string(65, 'x'), std::string("\xc3\xa4")}) {
    EXPECT_FALSE(is_version(text));
    EXPECT_FALSE(to_bytes(join_answer{text, "", ""}));
  }
}

}  // namespace
}  // namespace troupe::testing
