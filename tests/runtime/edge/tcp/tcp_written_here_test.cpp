// Goal: what a caller with time sends goes without the I/O thread, and what others send behind it keeps its place.
// Method: an endpoint whose I/O thread stands in the callback of another edge.
#include <future>

#include <gtest/gtest.h>

#include "tcp_test_support.hpp"

namespace troupe::testing {
namespace {

activation numbered(std::uint64_t number) {
  return {{0, number}, {0, 1}, std::make_shared<number_payload>(number), nullptr, nullptr};
}

/// While it lives the endpoint's I/O thread does nothing, at most for 20 s.
class standing_io_thread {
 public:
  standing_io_thread(tcp_endpoint& of, tcp_endpoint& other) {
    const auto stand = [this](const error&) {
      stands_.set_value();
      may_go_on_.get_future().wait_for(20s);
    };
    consumer_ = of.accept(key_of(99), {{1, nullptr, nullptr, 1}, stand}).value();
    auto producer = other.connect("127.0.0.1", of.port(), key_of(99), {{1, nullptr, nullptr, 1}, {}}).value();
    producer->abandon();
    EXPECT_EQ(stands_.get_future().wait_for(20s), std::future_status::ready);
  }
  ~standing_io_thread() { may_go_on_.set_value(); }
  standing_io_thread(const standing_io_thread&) = delete;
  standing_io_thread& operator=(const standing_io_thread&) = delete;

 private:
  std::promise<void> stands_;
  std::promise<void> may_go_on_;
  std::unique_ptr<edge_consumer> consumer_;
};

class tcp_written_here : public ::testing::TestWithParam<bool> {
 protected:
  std::uint64_t receive() {
    std::optional<activation> got;
    if (!eventually([&] { return (got = consumer->try_receive()).has_value(); })) return 999;
    consumer->release();
    return dynamic_cast<const viewed_payload&>(*got->tensors).value();
  }

  const std::unique_ptr<tcp_endpoint> there = must_open(test_options(GetParam()));
  const std::unique_ptr<tcp_endpoint> here = must_open(test_options(GetParam()));
  const edge_options options{4, nullptr, nullptr, 1};
  const std::unique_ptr<edge_consumer> consumer = there->accept(key_of(1), {options, {}}).value();
  const std::unique_ptr<edge_producer> producer =
      here->connect("127.0.0.1", there->port(), key_of(1), {options, {}}).value();
};

TEST_P(tcp_written_here, arrives_while_the_io_thread_is_busy) {
  const standing_io_thread standing(*here, *there);
  for (const std::uint64_t number : {1, 2}) {
    activation message = numbered(number);
    ASSERT_EQ(producer->try_send_now(message), send_status::sent);
    EXPECT_EQ(receive(), number);
  }
}

TEST_P(tcp_written_here, takes_along_what_waits_for_the_io_thread) {
  {
    const standing_io_thread standing(*here, *there);
    activation first = numbered(1);
    activation second = numbered(2);
    ASSERT_EQ(producer->try_send(first), send_status::sent);
    ASSERT_EQ(producer->try_send_now(second), send_status::sent);
    EXPECT_EQ(receive(), 1u);
    EXPECT_EQ(receive(), 2u);
  }
  activation third = numbered(3);
  ASSERT_EQ(producer->try_send(third), send_status::sent);
  EXPECT_EQ(receive(), 3u);
}

INSTANTIATE_TEST_SUITE_P(with_and_without_tls, tcp_written_here, ::testing::Bool());

/// One that has not connected yet, and one whose peer is gone.
TEST(tcp_written_later, where_there_is_nothing_to_write_to) {
  const auto there = must_open(test_options());
  const auto here = must_open(test_options());
  error_box lost;
  auto producer =
      here->connect_later("127.0.0.1", there->port(), key_of(1), {{4, nullptr, nullptr, 1}, lost.put()}).value();
  activation early = numbered(1);
  ASSERT_EQ(producer->try_send_now(early), send_status::sent);
  auto consumer = there->accept(key_of(1), {{4, nullptr, nullptr, 1}, {}}).value();
  EXPECT_TRUE(eventually([&] { return consumer->try_receive().has_value(); }));
  consumer->abandon();
  EXPECT_TRUE(lost.take());
  activation late = numbered(2);
  EXPECT_EQ(producer->try_send_now(late), send_status::no_credit) << "silent, as any edge that is lost";
}

}  // namespace
}  // namespace troupe::testing
