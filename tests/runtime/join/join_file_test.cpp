// Goal: a ticket is read from files and descriptors that only its user sees, within bounds of size and time.
#include "runtime/join/join_file.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/os/unique_fd.hpp"
#include "tests/runtime/join/join_test_support.hpp"
#include "tests/runtime/join/ticket_samples.hpp"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class join_file : public ::testing::Test {
 protected:
  std::string with_mode(const std::string& path, mode_t mode) {
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  /// A file with a good ticket.
  std::string ticket_file(const std::string& name, mode_t mode) {
    return with_mode(scratch.file(name, text_of(sample_ticket()) + "\n"), mode);
  }
  /// Empty for a ticket that was read.
  static std::string cause_of(const std::string& path) {
    const auto read = read_join_file(path);
    if (!read) return read.error().cause;
    EXPECT_EQ(parts_of(*read), parts_of(sample_ticket()));
    return {};
  }
  scratch_directory scratch;
};

TEST_F(join_file, is_read_if_its_user_alone_has_rights) {
  EXPECT_EQ(cause_of(ticket_file("a", 0600)), "");
  EXPECT_EQ(cause_of(ticket_file("b", 0400)), "");
  for (const mode_t mode : {0640, 0604, 0660, 0602, 0610, 0601, 0644, 0777})
    EXPECT_EQ(cause_of(ticket_file("c", mode)), "its group or others have rights to it") << std::oct << mode;
}

TEST_F(join_file, is_judged_behind_links) {
  // As Kubernetes mounts a Secret: ticket -> ..data/ticket, ..data -> ..2026
  fs::create_directory(scratch / "..2026");
  fs::create_directory_symlink("..2026", scratch / "..data");
  fs::create_symlink("..data/ticket", scratch / "ticket");
  const std::string file = ticket_file("..2026/ticket", 0600);
  EXPECT_EQ(cause_of((scratch / "ticket").string()), "");
  with_mode(file, 0640);
  EXPECT_EQ(cause_of((scratch / "ticket").string()), "its group or others have rights to it");
}

TEST_F(join_file, is_a_regular_file_of_a_ticket) {
  EXPECT_EQ(read_join_file((scratch / "none").string()).error().code, error_code::config_missing);
  fs::create_directory(scratch / "directory");
  EXPECT_EQ(cause_of((scratch / "directory").string()), "it is no regular file");
  ASSERT_EQ(::mkfifo((scratch / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(cause_of((scratch / "fifo").string()), "it is no regular file");
  EXPECT_EQ(cause_of("/dev/null"), "it is no regular file");
  EXPECT_EQ(cause_of(with_mode(scratch.file("empty", ""), 0600)), "it is empty");
  EXPECT_THAT(cause_of(with_mode(scratch.file("large", std::string(4097, ' ')), 0600)), HasSubstr("4097 bytes"));
  EXPECT_THAT(
      cause_of(with_mode(scratch.file("two", text_of(sample_ticket()) + "\n" + text_of(sample_ticket())), 0600)),
      HasSubstr("does not belong there"));
}

TEST_F(join_file, of_another_user_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string file = ticket_file("a", 0600);
  ASSERT_EQ(::chown(file.c_str(), 12345, 12345), 0);
  EXPECT_EQ(cause_of(file), "it belongs to another user");
}

TEST_F(join_file, is_written_for_its_user_alone) {
  const std::string path = (scratch / "ticket").string();
  for (const mode_t mask : {0000, 0022, 0777}) {
    fs::remove(path);
    const mode_t before = ::umask(mask);
    const auto written = write_join_file(path, sample_ticket());
    ::umask(before);
    ASSERT_TRUE(written) << to_string(written.error());
    struct stat about {};
    ASSERT_EQ(::stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 07777, mode_t{0600});
    EXPECT_EQ(cause_of(path), "");
  }
}

TEST_F(join_file, replaces_nothing_and_follows_no_link) {
  const std::string taken = scratch.file("taken", "keep");
  fs::create_symlink("elsewhere", scratch / "link");
  for (const std::string& path : {taken, (scratch / "link").string(), (scratch / "no").string() + "/ticket"}) {
    const auto written = write_join_file(path, sample_ticket());
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, error_code::output_unwritable);
  }
  EXPECT_EQ(fs::file_size(taken), 4u);
  EXPECT_FALSE(fs::exists(scratch / "elsewhere"));
  EXPECT_EQ(write_join_file("/dev/full", sample_ticket()).error().code, error_code::output_unwritable);
}

TEST_F(join_file, is_not_written_for_a_ticket_that_breaks_a_rule) {
  join_ticket ticket = sample_ticket();
  ticket.node = "";
  EXPECT_EQ(write_join_file((scratch / "a").string(), ticket).error().code, error_code::config_bad_value);
  EXPECT_FALSE(fs::exists(scratch / "a"));
}

struct pipe_ends {
  unique_fd read;
  unique_fd write;
};

pipe_ends make_pipe() {
  int ends[2] = {};
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {unique_fd(ends[0]), unique_fd(ends[1])};
}

void give(const pipe_ends& pipe, const std::string& text) {
  ASSERT_EQ(::write(pipe.write.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

std::string cause_on(int fd, std::chrono::milliseconds wait = std::chrono::seconds(60)) {
  const auto read = read_join_ticket(fd, wait);
  return read ? std::string() : read.error().cause;
}

TEST(join_ticket_on_a_descriptor, is_one_line_and_takes_no_more) {
  auto pipe = make_pipe();
  give(pipe, text_of(sample_ticket()) + "\nrest");
  const auto read = read_join_ticket(pipe.read.get());
  ASSERT_TRUE(read);
  EXPECT_EQ(parts_of(*read), parts_of(sample_ticket()));
  char rest[8] = {};
  EXPECT_EQ(::read(pipe.read.get(), rest, sizeof(rest)), 4);
  EXPECT_STREQ(rest, "rest");
}

TEST(join_ticket_on_a_descriptor, may_come_in_parts_and_lack_its_line_end) {
  auto pipe = make_pipe();
  const std::string text = text_of(sample_ticket());
  std::thread writer([&] {
    for (const char c : text) give(pipe, std::string(1, c));
    pipe.write.reset();
  });
  EXPECT_EQ(cause_on(pipe.read.get()), "");
  writer.join();
}

TEST(join_ticket_on_a_descriptor, is_bounded_in_size_and_time) {
  auto pipe = make_pipe();
  give(pipe, text_of(sample_ticket()));
  EXPECT_EQ(cause_on(pipe.read.get(), std::chrono::milliseconds(20)), "no whole line came within 20 ms");
  auto large = make_pipe();
  give(large, std::string(10'000, 'a'));
  EXPECT_THAT(cause_on(large.read.get()), HasSubstr("4097 bytes"));
  auto closed = make_pipe();
  closed.write.reset();
  EXPECT_EQ(cause_on(closed.read.get()), "it is empty");
}

TEST(join_ticket_on_a_descriptor, that_cannot_be_read_is_an_error_at_once) {
  EXPECT_THAT(cause_on(-1), HasSubstr("poll: "));
  auto pipe = make_pipe();
  const int closed = pipe.read.get();
  pipe.read.reset();
  EXPECT_THAT(cause_on(closed), HasSubstr("poll: "));
  const unique_fd directory(::open("/", O_RDONLY | O_CLOEXEC));
  EXPECT_THAT(cause_on(directory.get()), HasSubstr("read: "));
}

}  // namespace
}  // namespace troupe::testing
