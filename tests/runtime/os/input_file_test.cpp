// Goal: an input that a user names is read whole, bounded, and never waited for without a limit. Method: files, FIFOs
// with and without writers, pipes as shells make them for <(COMMAND), directories, devices.
#include "runtime/os/input_file.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/os/unique_fd.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// Longer than any test waits.
constexpr auto patience = 100s;

class input_file : public ::testing::Test {
 protected:
  input_file() {
    std::string name = (std::filesystem::temp_directory_path() / "troupe-input-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  ~input_file() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (root_ / name).string(); }
  [[nodiscard]] std::string fifo() const {
    EXPECT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    return path("fifo");
  }

  std::filesystem::path root_;
};

TEST_F(input_file, regular_files_are_read_up_to_one_byte_too_many) {
  std::ofstream(path("a")) << "0123456789";
  EXPECT_EQ(read_small_input(path("a"), 10, patience), "0123456789");
  EXPECT_EQ(read_small_input(path("a"), 5, patience), "012345");
  std::ofstream(path("empty"));
  EXPECT_EQ(read_small_input(path("empty"), 10, patience), "");
}

TEST_F(input_file, what_cannot_be_read_says_why) {
  const auto absent = read_small_input(path("absent"), 10, patience);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().number, ENOENT);
  const auto directory = read_small_input(root_.string(), 10, patience);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().cause, "is a directory");
}

TEST_F(input_file, a_fifo_without_a_writer_ends_the_wait) {
  const auto nothing = read_small_input(fifo(), 10, 1ms);
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().cause, HasSubstr("is a FIFO, not a regular file"));
}

TEST_F(input_file, a_fifo_whose_writer_does_not_end_ends_the_wait) {
  const std::string name = fifo();
  const unique_fd both(::open(name.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::write(both.get(), "abc", 3), 3);
  EXPECT_FALSE(read_small_input(name, 10, 1ms));
  ASSERT_EQ(::write(both.get(), "abc", 3), 3);
  EXPECT_EQ(read_small_input(name, 2, patience), "abc") << "too much is known without an end";
}

TEST_F(input_file, a_fifo_is_read_to_the_end_of_its_writer) {
  const std::string name = fifo();
  for (const std::string text : {"abc", ""}) {
    std::thread writer([&] {
      const unique_fd to(::open(name.c_str(), O_WRONLY | O_CLOEXEC));
      EXPECT_EQ(::write(to.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
    });
    EXPECT_EQ(read_small_input(name, 10, patience), text);
    writer.join();
  }
}

/// Its writer may have ended before.
TEST_F(input_file, a_pipe_of_a_shell_is_read) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const unique_fd read(ends[0]);
  {
    const unique_fd write(ends[1]);
    ASSERT_EQ(::write(write.get(), "abc", 3), 3);
  }
  EXPECT_EQ(read_small_input("/dev/fd/" + std::to_string(read.get()), 10, patience), "abc");
}

TEST_F(input_file, devices_are_bounded) {
  EXPECT_EQ(read_small_input("/dev/null", 10, patience), "");
  EXPECT_EQ(read_small_input("/dev/zero", 10, patience), std::string(11, '\0'));
}

}  // namespace
}  // namespace troupe::testing
