// Goal: an end of an edge is connected to the node that it is meant for and to no other member of the job, whatever
// else that member knows; and a listening socket may come from outside. Method: endpoints with certificates of several
// nodes of one authority, which all know the secret of the run.
#include <array>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "runtime/os/unique_fd.hpp"
#include "tcp_test_support.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

class tcp_names : public ::testing::Test {
 protected:
  tcp_endpoint_options options_of(const std::string& node) {
    tcp_endpoint_options options = test_options();
    options.tls = authority.issue(node);
    options.node_of = common_name_of;
    options.on_refused = refused.put();
    return options;
  }
  static expected<std::unique_ptr<edge_producer>> connect(tcp_endpoint& from, const tcp_endpoint& to,
                                                          std::optional<std::string> wanted) {
    return from.connect("127.0.0.1", to.port(), key_of(1), {.edge = {}, .peer = std::move(wanted)});
  }

  test_authority authority;
  error_box refused;
  error_box lost;
  std::unique_ptr<tcp_endpoint> a = must_open(options_of("a"));
  std::unique_ptr<tcp_endpoint> b = must_open(options_of("b"));
  std::unique_ptr<tcp_endpoint> evil = must_open(options_of("evil"));
};

TEST_F(tcp_names, an_edge_takes_its_producer_from_the_right_node_alone) {
  const auto consumer = a->accept(key_of(1), {.edge = {}, .on_lost = lost.put(), .peer = "b"});
  ASSERT_TRUE(consumer);
  const auto posing = connect(*evil, *a, "a");
  ASSERT_FALSE(posing);
  EXPECT_EQ(posing.error().code, error_code::wire_handshake);
  const auto told = refused.take();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->cause, "its certificate is that of node evil, expected node b");
  const auto right = connect(*b, *a, "a");
  ASSERT_TRUE(right) << to_string(right.error());
  EXPECT_FALSE(connect(*evil, *a, "a")) << "the edge is connected";
  activation sent{{0, 0}, {0, 1}, std::make_shared<number_payload>(7), nullptr, nullptr};
  EXPECT_EQ((*right)->try_send(sent), send_status::sent);
  EXPECT_TRUE(eventually([&] { return (*consumer)->try_receive().has_value(); }));
  EXPECT_EQ(lost.count(), 0u);
}

TEST_F(tcp_names, a_producer_sends_to_the_right_node_alone) {
  const auto consumer = evil->accept(key_of(1), {.edge = {}, .peer = "b"});
  ASSERT_TRUE(consumer);
  for (const char* wanted : {"a", ""}) {
    const auto got = connect(*b, *evil, wanted);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, error_code::wire_handshake);
    EXPECT_THAT(got.error().cause, HasSubstr("node evil, expected " + std::string(*wanted ? "node a" : "the driver")));
  }
  EXPECT_TRUE(connect(*b, *evil, "evil"));
}

TEST_F(tcp_names, without_a_demand_any_member_of_the_job_will_do) {
  const auto consumer = a->accept(key_of(1), {});
  ASSERT_TRUE(consumer);
  EXPECT_TRUE(connect(*evil, *a, std::nullopt));
}

TEST_F(tcp_names, a_certificate_whose_name_cannot_be_read_is_refused) {
  tcp_endpoint_options options = options_of("a");
  options.node_of = [](x509_st*) -> expected<std::string> {
    return fail(error_code::wire_handshake, "certificate", "two names");
  };
  a = must_open(std::move(options));
  const auto consumer = a->accept(key_of(1), {});
  EXPECT_FALSE(connect(*b, *a, std::nullopt));
  EXPECT_EQ(refused.take()->cause, "two names");
}

TEST_F(tcp_names, links_and_joins_are_refused_where_nothing_takes_them) {
  const auto plain = must_open([&] {
    tcp_endpoint_options options = test_options();
    options.on_refused = refused.put();
    return options;
  }());
  for (const frame& first : {frame(link_frame{}), frame(join_frame{0})}) {
    const raw_client client(plain->port());
    client.send(encode_head(first).view());
    EXPECT_EQ(client.drain(), "");
    EXPECT_TRUE(refused.take());
  }
}

// --- a socket from outside -------------------------------------------------------------------------------------------

int twin_of(int fd) {
  return ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

TEST(inherited_listener, is_the_one_that_peers_connect_to) {
  const listening_socket listener;
  tcp_endpoint_options options = test_options();
  options.listener = twin_of(listener.fd());
  const auto endpoint = must_open(std::move(options));
  EXPECT_EQ(endpoint->port(), listener.port());
  const auto consumer = endpoint->accept(key_of(1), {});
  EXPECT_TRUE(endpoint->connect("127.0.0.1", listener.port(), key_of(1), {}));
}

TEST(inherited_listener, must_be_a_listening_socket_of_tcp) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  const unique_fd other(pair[1]);
  const int unbound = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  for (const int fd : {pair[0], unbound, 9999}) {
    tcp_endpoint_options options = test_options();
    options.listener = fd;
    const auto got = tcp_endpoint::open(std::move(options));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, error_code::process_failed);
    EXPECT_EQ(::fcntl(fd, F_GETFD), -1) << "left open";
  }
}

TEST(inherited_listener, beyond_loopback_needs_tls) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::listen(fd, 1), 0) << "on all addresses";
  tcp_endpoint_options options = test_options();
  options.listener = fd;
  const auto got = tcp_endpoint::open(std::move(options));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, error_code::config_bad_value);
}

}  // namespace
}  // namespace troupe::testing
