// Goal: a pipe that is not read costs messages and hardly any time, and the next message that finds room says how many.
// Method: pipes that the test fills and empties.
#include "runtime/os/message_writer.hpp"

#include <array>
#include <csignal>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe::testing {
namespace {

using steady = std::chrono::steady_clock;

struct pipe_ends {
  pipe_ends() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reading = unique_fd(ends[0]);
    writing = unique_fd(ends[1]);
  }
  void fill() const {
    EXPECT_EQ(::fcntl(writing.get(), F_SETFL, O_NONBLOCK), 0);
    for (const std::size_t size : {4096, 1}) {
      const std::string much(size, '.');
      while (::write(writing.get(), much.data(), much.size()) > 0) {
      }
    }
    EXPECT_EQ(::fcntl(writing.get(), F_SETFL, 0), 0);
  }
  [[nodiscard]] std::string read_all() const {
    EXPECT_EQ(::fcntl(reading.get(), F_SETFL, O_NONBLOCK), 0);
    std::string all;
    std::array<char, 4096> some{};
    for (ssize_t n = 0; (n = ::read(reading.get(), some.data(), some.size())) > 0;) {
      all.append(some.data(), static_cast<std::size_t>(n));
    }
    return all;
  }
  unique_fd reading;
  unique_fd writing;
};

struct unread_pipe : ::testing::Test, pipe_ends {};

TEST_F(unread_pipe, that_has_room_gets_every_message) {
  message_writer messages(writing.get());
  const std::string longer_than_a_chunk(9000, 'x');
  messages.write("one\n", limits::stderr_patience);
  messages.write(longer_than_a_chunk + "\n", limits::stderr_patience);
  EXPECT_EQ(read_all(), "one\n" + longer_than_a_chunk + "\n");
}

TEST_F(unread_pipe, loses_messages_after_one_wait_and_tells_their_number) {
  message_writer messages(writing.get());
  fill();
  const auto begin = steady::now();
  for (int i = 0; i < 7; ++i) messages.write("lost\n", limits::stderr_patience);
  const auto waited = steady::now() - begin;
  EXPECT_GE(waited, limits::stderr_patience);
  EXPECT_LT(waited, 3 * limits::stderr_patience) << "it waited for each line";
  static_cast<void>(read_all());
  messages.write("there\n", limits::stderr_patience);
  EXPECT_EQ(read_all(), "(7 messages were lost here: they were not read)\nthere\n");
}

TEST_F(unread_pipe, whose_reader_is_gone_costs_messages_and_no_signal) {
  message_writer messages(writing.get());
  reading = unique_fd();
  messages.write("lost\n", limits::stderr_patience);
  messages.write("lost, too\n", limits::stderr_patience);
  sigset_t pending;
  ASSERT_EQ(::sigpending(&pending), 0);
  EXPECT_EQ(::sigismember(&pending, SIGPIPE), 0);
}

TEST_F(unread_pipe, keeps_its_mode_for_others_that_share_it) {
  message_writer messages(writing.get());
  fill();
  messages.write("lost\n", std::chrono::milliseconds{0});
  EXPECT_EQ(::fcntl(writing.get(), F_GETFL) & O_NONBLOCK, 0) << "others that share it would lose messages";
}

TEST_F(unread_pipe, is_left_where_the_descriptor_is_given_another_file) {
  message_writer messages(writing.get());
  messages.write("before\n", limits::stderr_patience);
  const pipe_ends other;
  ASSERT_EQ(::dup2(other.writing.get(), writing.get()), writing.get());
  messages.write("after\n", limits::stderr_patience);
  EXPECT_EQ(read_all(), "before\n");
  EXPECT_EQ(other.read_all(), "after\n");
}

}  // namespace
}  // namespace troupe::testing
