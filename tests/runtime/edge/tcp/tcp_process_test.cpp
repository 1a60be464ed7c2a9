// Goal: two processes stream to each other through TLS; a frozen or killed one is noticed. Method: a child, forked
// before there are threads, that sends until it is told otherwise.
#include <array>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tcp_test_support.hpp"

namespace troupe::testing {
namespace {

constexpr std::uint64_t messages = 2000;

tcp_endpoint_options quick_options() {
  tcp_endpoint_options options = test_options(true);
  options.keep_alive = 50ms;
  options.silence_timeout = 1000ms;
  return options;
}

/// The child: reads the port from the pipe, sends `count` numbers, closes, and ends with 0 if all went well.
[[noreturn]] void send_numbers(int from_parent, std::uint64_t count) {
  std::uint16_t port = 0;
  if (::read(from_parent, &port, sizeof(port)) != sizeof(port)) ::_exit(1);
  auto endpoint = tcp_endpoint::open(quick_options());
  if (!endpoint) ::_exit(2);
  doorbell bell;
  auto producer = (*endpoint)->connect("127.0.0.1", port, key_of(1), {{4, &bell, nullptr, 1}, {}});
  if (!producer) ::_exit(3);
  for (std::uint64_t index = 0; index < count; ++index) {
    activation next{{0, index}, {0, 1}, std::make_shared<number_payload>(index, index * 37 % 30'000), nullptr, nullptr};
    while ((*producer)->try_send(next) != send_status::sent) {
      const std::uint32_t epoch = bell.prepare_to_park();
      if ((*producer)->credits() > 0) {
        bell.stay_awake();
      } else {
        bell.wait(epoch, 100ms);
      }
    }
  }
  (*producer)->close();
  (*endpoint)->stop();
  ::_exit(0);
}

class tcp_process : public ::testing::Test {
 protected:
  void start(std::uint64_t count) {
    (void)run_credentials();  // the same in both processes
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    child_ = ::fork();
    if (child_ == 0) send_numbers(ends[0], count);
    endpoint = must_open(quick_options());
    auto accepted = endpoint->accept(key_of(1), {{4, nullptr, nullptr, 1}, lost.put()});
    ASSERT_TRUE(accepted);
    consumer = std::move(*accepted);
    const std::uint16_t port = endpoint->port();
    ASSERT_EQ(::write(ends[1], &port, sizeof(port)), static_cast<ssize_t>(sizeof(port)));
    ::close(ends[0]);
    ::close(ends[1]);
  }
  /// Receives the next one; false if there is none.
  bool receive(std::uint64_t index) {
    std::optional<activation> got;
    if (!eventually([&] { return (got = consumer->try_receive()).has_value() || consumer->exhausted(); })) return false;
    if (!got) return false;
    EXPECT_EQ(got->id.index, index);
    EXPECT_EQ(dynamic_cast<const viewed_payload&>(*got->tensors).value(), index);
    got.reset();
    consumer->release();
    return true;
  }
  void expect_lost(const char* why) {
    const auto told = lost.take();
    ASSERT_TRUE(told);
    EXPECT_EQ(told->code, error_code::peer_lost);
    EXPECT_THAT(told->where, ::testing::HasSubstr("edge 1"));
    EXPECT_THAT(told->cause, ::testing::HasSubstr(why));
    while (consumer->try_receive()) {
    }
    EXPECT_FALSE(consumer->exhausted());
  }
  void signal(int number) const { ASSERT_EQ(::kill(child_, number), 0); }
  int join() {
    int status = 0;
    EXPECT_EQ(::waitpid(std::exchange(child_, 0), &status, 0) > 0, true);
    return status;
  }
  void TearDown() override {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      join();
    }
  }

  error_box lost;
  std::unique_ptr<tcp_endpoint> endpoint;
  std::unique_ptr<edge_consumer> consumer;

 private:
  pid_t child_ = 0;
};

TEST_F(tcp_process, streams_from_another_process) {
  start(messages);
  for (std::uint64_t index = 0; index < messages; ++index) ASSERT_TRUE(receive(index));
  EXPECT_TRUE(eventually([&] { return consumer->exhausted(); }));
  consumer->close();
  EXPECT_EQ(join(), 0);
  EXPECT_EQ(lost.count(), 0u);
}

TEST_F(tcp_process, a_frozen_process_is_lost_after_the_time_out) {
  start(1'000'000);
  for (std::uint64_t index = 0; index < 20; ++index) ASSERT_TRUE(receive(index));
  signal(SIGSTOP);
  expect_lost("silent for 1000 ms");
}

TEST_F(tcp_process, a_killed_process_is_lost_at_once) {
  start(1'000'000);
  for (std::uint64_t index = 0; index < 20; ++index) ASSERT_TRUE(receive(index));
  signal(SIGKILL);
  expect_lost("connection closed");
}

TEST_F(tcp_process, a_consumer_that_takes_its_time_loses_nobody) {
  start(50);
  ASSERT_TRUE(receive(0));
  const auto until = std::chrono::steady_clock::now() + 1500ms;
  EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > until; }));
  for (std::uint64_t index = 1; index < 50; ++index) ASSERT_TRUE(receive(index));
  consumer->close();
  EXPECT_EQ(join(), 0);
  EXPECT_EQ(lost.count(), 0u);
}

}  // namespace
}  // namespace troupe::testing
