// Goal: an edge that is connected in the background is the same edge, whichever side is first. Method: two endpoints of
// this process, of which one accepts late, never, or not any more.
#include <gmock/gmock.h>

#include "tcp_test_support.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

class tcp_later : public ::testing::Test {
 protected:
  tcp_later() {
    tcp_endpoint_options options = test_options();
    options.attach_timeout = attach_timeout;
    near = must_open(std::move(options));
    far = must_open(test_options());
  }
  std::unique_ptr<edge_producer> connect(std::uint16_t port) {
    auto made = near->connect_later("127.0.0.1", port, key_of(1), {{2, nullptr, nullptr, 1}, lost.put()});
    EXPECT_TRUE(made) << to_string(made.error());
    return std::move(*made);
  }
  static send_status send(edge_producer& on, std::uint64_t index) {
    activation message;
    message.id = {0, index};
    message.samples = {index, index + 1};
    return on.try_send(message);
  }

  static constexpr std::chrono::milliseconds attach_timeout{200};
  error_box lost;
  std::unique_ptr<tcp_endpoint> near;
  std::unique_ptr<tcp_endpoint> far;
};

TEST_F(tcp_later, what_was_sent_before_it_was_accepted_arrives) {
  const auto producer = connect(far->port());
  EXPECT_EQ(send(*producer, 0), send_status::sent);
  EXPECT_EQ(send(*producer, 1), send_status::sent);
  EXPECT_EQ(send(*producer, 2), send_status::no_credit);
  producer->send_flush(0);
  const auto consumer = far->accept(key_of(1), {{2, nullptr, nullptr, 1}, lost.put()});
  ASSERT_TRUE(consumer);
  for (std::uint64_t index = 0; index < 2; ++index) {
    std::optional<activation> got;
    ASSERT_TRUE(eventually([&] { return (got = (*consumer)->try_receive()).has_value(); }));
    EXPECT_EQ(got->id.index, index);
    (*consumer)->release();
  }
  EXPECT_TRUE(eventually([&] { return (*consumer)->flushed_through() == std::optional<call_number>(0); }));
  EXPECT_TRUE(eventually([&] { return producer->credits() == 2; }));
  EXPECT_EQ(lost.count(), 0u);
}

TEST_F(tcp_later, is_lost_when_nobody_accepts) {
  const auto producer = connect(far->port());
  const auto told = lost.take();
  ASSERT_TRUE(told);
  EXPECT_THAT(told->where, HasSubstr("edge 1"));
  EXPECT_EQ(producer->credits(), 0u);
}

TEST_F(tcp_later, is_lost_when_nobody_listens) {
  const std::uint16_t port = far->port();
  far.reset();
  const auto producer = connect(port);
  EXPECT_TRUE(lost.take());
}

TEST_F(tcp_later, can_be_given_up_before) {
  connect(far->port())->abandon();
  const auto consumer = far->accept(key_of(1), {{2, nullptr, nullptr, 1}, lost.put()});
  ASSERT_TRUE(consumer);
  EXPECT_TRUE(eventually([&] { return near->connections() == 0; }));
  EXPECT_FALSE((*consumer)->try_receive());
}

}  // namespace
}  // namespace troupe::testing
