// Goal: a memory file can be opened by name and read, and cannot be changed.
#include "runtime/process/memory_file.hpp"

#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/limits.hpp"

namespace troupe::testing {
namespace {

std::string text_at(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(memory_file, is_read_by_its_path_as_often_as_wanted) {
  const std::string text("line\nand a \0 byte", 17);
  const auto file = memory_file::make("test", text);
  ASSERT_TRUE(file);
  EXPECT_EQ(text_at(file->path()), text);
  EXPECT_EQ(text_at(file->path()), text);
  const auto copy = file->duplicate();
  ASSERT_TRUE(copy);
  EXPECT_NE(copy->get(), file->fd());
  EXPECT_EQ(text_at(memory_file::path_of(copy->get())), text);
  EXPECT_EQ(::fcntl(copy->get(), F_GETFD), FD_CLOEXEC);
}

TEST(memory_file, is_for_its_user_alone) {
  const auto file = memory_file::make("test", "text");
  ASSERT_TRUE(file);
  struct stat status {};
  ASSERT_EQ(::fstat(file->fd(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
}

TEST(memory_file, is_sealed) {
  const auto file = memory_file::make("test", "text");
  ASSERT_TRUE(file);
  EXPECT_EQ(::pwrite(file->fd(), "x", 1, 0), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(file->fd(), 0), -1);
  EXPECT_EQ(::ftruncate(file->fd(), 100), -1);
  EXPECT_EQ(::fcntl(file->fd(), F_ADD_SEALS, F_SEAL_WRITE), -1);
  EXPECT_EQ(text_at(file->path()), "text");
}

TEST(memory_file, has_a_greatest_size) {
  EXPECT_TRUE(memory_file::make("test", std::string(limits::memory_file_bytes_max, 'x')));
  EXPECT_FALSE(memory_file::make("test", std::string(limits::memory_file_bytes_max + 1, 'x')));
}

}  // namespace
}  // namespace troupe::testing
