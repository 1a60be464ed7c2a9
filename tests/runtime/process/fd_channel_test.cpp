// Goal: descriptors travel, and nothing else than a message in order from the expected process gets through. Malformed
// ones are made with bare sendmsg() on the other end's socket.
#include "runtime/process/fd_channel.hpp"

#include <array>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/process/memory_file.hpp"
#include "tests/runtime/process/probe_listener.hpp"

namespace troupe::testing {
namespace {

struct two_ends {
  fd_channel driver;
  fd_channel worker;
};

two_ends connected() {
  auto made = fd_channel::make();
  EXPECT_TRUE(made);
  auto adopted = fd_channel::adopt(std::move(made->second), ::getpid());
  EXPECT_TRUE(adopted);
  return {std::move(made->first), std::move(*adopted)};
}

/// One packet, with these descriptors, past all checks of the sender.
bool send_raw(int socket, std::string bytes, const std::vector<int>& fds) {
  iovec text{bytes.data(), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(16 * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &text;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
  }
  return ::sendmsg(socket, &header, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

TEST(fd_channel, descriptors_arrive_close_on_exec_and_refer_to_the_same_file) {
  auto ends = connected();
  const auto file = memory_file::make("travels", "written before");
  ASSERT_TRUE(file);
  const std::array<int, 4> fds{file->fd(), file->fd(), 0, 1};
  ASSERT_EQ(*ends.driver.send("four", fds), channel_status::done);
  auto input = ends.worker.receive();
  ASSERT_TRUE(input) << to_string(input.error());
  EXPECT_EQ(input->message.tag, "four");
  ASSERT_EQ(input->message.fds.size(), 4u);
  for (const unique_fd& fd : input->message.fds) EXPECT_EQ(::fcntl(fd.get(), F_GETFD), FD_CLOEXEC);
  std::array<char, 32> text{};
  ASSERT_EQ(::pread(input->message.fds[0].get(), text.data(), text.size(), 0), 14);
  EXPECT_STREQ(text.data(), "written before");
}

TEST(fd_channel, nothing_blocks) {
  auto ends = connected();
  EXPECT_EQ(ends.worker.receive()->status, channel_status::empty);
  int sent = 0;
  while (*ends.driver.send("x") == channel_status::done) ++sent;
  EXPECT_GT(sent, 0);
  EXPECT_EQ(*ends.driver.send("x"), channel_status::empty);
  for (int i = 0; i < sent; ++i) ASSERT_EQ(ends.worker.receive()->status, channel_status::done);
  EXPECT_EQ(ends.worker.receive()->status, channel_status::empty);
  EXPECT_EQ(*ends.driver.send("x"), channel_status::done);
}

TEST(fd_channel, what_was_sent_before_the_end_arrives) {
  auto ends = connected();
  ASSERT_EQ(*ends.driver.send("last"), channel_status::done);
  ends.driver = std::move(fd_channel::make()->first);
  EXPECT_EQ(ends.worker.receive()->message.tag, "last");
  EXPECT_EQ(ends.worker.receive()->status, channel_status::closed);
  EXPECT_EQ(*ends.worker.send("x"), channel_status::closed);
}

TEST(fd_channel, too_much_is_not_sent) {
  auto ends = connected();
  const std::vector<int> fds(limits::channel_fds_max + 1, 0);
  EXPECT_EQ(ends.driver.send("x", fds).error().code, error_code::wire_too_large);
  EXPECT_EQ(ends.driver.send("").error().code, error_code::wire_too_large);
  EXPECT_EQ(ends.driver.send(std::string(limits::channel_tag_bytes_max + 1, 'x')).error().code,
            error_code::wire_too_large);
  const int closed = 1000;
  EXPECT_EQ(ends.driver.send("x", {&closed, 1}).error().code, error_code::process_failed);
  EXPECT_EQ(ends.worker.receive()->status, channel_status::empty);
  EXPECT_EQ(*ends.driver.send(std::string(limits::channel_tag_bytes_max, 'x')), channel_status::done);
  EXPECT_EQ(ends.worker.receive()->message.tag.size(), limits::channel_tag_bytes_max);
}

TEST(fd_channel, malformed_messages_are_refused_and_their_descriptors_closed) {
  auto ends = connected();
  const auto open_before = open_descriptors();
  const std::vector<std::pair<std::string, std::vector<int>>> messages = {
      {"too many", {0, 0, 0, 0, 0}},
      {"far too many", std::vector<int>(16, 0)},
      {std::string(limits::channel_tag_bytes_max + 1, 'x'), {0, 0}},
      {"", {0}},
      {"", {}},
  };
  for (const auto& [tag, fds] : messages) {
    ASSERT_TRUE(send_raw(ends.driver.fd(), tag, fds));
    const auto input = ends.worker.receive();
    ASSERT_FALSE(input) << tag;
    EXPECT_EQ(input.error().code, error_code::wire_malformed);
    EXPECT_EQ(open_descriptors(), open_before);
  }
  ASSERT_EQ(*ends.driver.send("in order"), channel_status::done);
  EXPECT_EQ(ends.worker.receive()->message.tag, "in order");
}

TEST(fd_channel, another_process_is_refused) {
  auto ends = connected();
  const auto open_before = open_descriptors();
  const pid_t other = ::fork();
  if (other == 0) ::_exit(send_raw(ends.driver.fd(), "from another", {0}) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  ASSERT_EQ(status, 0);
  const auto input = ends.worker.receive();
  ASSERT_FALSE(input);
  EXPECT_EQ(input.error().code, error_code::wire_handshake);
  EXPECT_EQ(open_descriptors(), open_before);
  ends.driver.expect_sender(::getpid() + 1);
  ASSERT_EQ(*ends.worker.send("from this one"), channel_status::done);
  EXPECT_EQ(ends.driver.receive().error().code, error_code::wire_handshake);
}

TEST(fd_channel, only_the_expected_socket_is_adopted) {
  const auto code_of = [](unique_fd fd, pid_t maker) {
    const auto adopted = fd_channel::adopt(std::move(fd), maker);
    return adopted ? error_code{} : adopted.error().code;
  };
  EXPECT_EQ(code_of(std::move(fd_channel::make()->second), ::getpid() + 1), error_code::wire_handshake);
  EXPECT_EQ(code_of(unique_fd(::open("/dev/null", O_RDWR)), ::getpid()), error_code::wire_handshake);
  EXPECT_EQ(code_of(unique_fd(::socket(AF_UNIX, SOCK_STREAM, 0)), ::getpid()), error_code::wire_handshake);
  EXPECT_EQ(code_of(unique_fd(), ::getpid()), error_code::wire_handshake);
}

}  // namespace
}  // namespace troupe::testing
