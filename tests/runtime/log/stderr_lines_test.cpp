// Goal: a pipe that is not read costs lines and hardly any time, and the next line that finds room says how many.
// Method: a pipe that the test fills and empties.
#include "runtime/log/stderr_lines.hpp"

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

struct unread_pipe : ::testing::Test {
  unread_pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reading = unique_fd(ends[0]);
    writing = unique_fd(ends[1]);
  }
  void fill() const {
    EXPECT_EQ(::fcntl(writing.get(), F_SETFL, O_NONBLOCK), 0);
    const std::string much(4096, '.');
    while (::write(writing.get(), much.data(), much.size()) > 0) {
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

TEST_F(unread_pipe, that_has_room_gets_every_line) {
  stderr_lines lines(writing.get());
  const std::string longer_than_a_chunk(9000, 'x');
  lines.write("one\n");
  lines.write(longer_than_a_chunk + "\n");
  EXPECT_EQ(read_all(), "one\n" + longer_than_a_chunk + "\n");
}

TEST_F(unread_pipe, loses_lines_after_one_wait_and_tells_their_number) {
  stderr_lines lines(writing.get());
  fill();
  const auto begin = steady::now();
  for (int i = 0; i < 7; ++i) lines.write("lost\n");
  const auto waited = steady::now() - begin;
  EXPECT_GE(waited, limits::stderr_patience);
  EXPECT_LT(waited, 3 * limits::stderr_patience) << "it waited for each line";
  static_cast<void>(read_all());
  lines.write("there\n");
  EXPECT_EQ(read_all(), "(7 lines of the log were lost here)\nthere\n");
}

TEST_F(unread_pipe, whose_reader_is_gone_costs_lines_and_no_signal) {
  stderr_lines lines(writing.get());
  reading = unique_fd();
  lines.write("lost\n");
  lines.write("lost, too\n");
  sigset_t pending;
  ASSERT_EQ(::sigpending(&pending), 0);
  EXPECT_EQ(::sigismember(&pending, SIGPIPE), 0);
}

}  // namespace
}  // namespace troupe::testing
