// Goal: no file of a program gets a number from 0 to 2 because its parent closed them. Method: a child process that
// closes each subset of them and looks where its next file goes; it answers through its exit status.
#include "runtime/os/standard_descriptors.hpp"

#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace troupe::testing {
namespace {

enum verdict : int { fine, next_file_is_standard, closed_one_is_writable, closed_one_is_readable, open_one_changed };

bool is_closed(unsigned subset, int number) {
  return (subset >> number & 1u) != 0;
}

verdict look(unsigned subset) {
  for (int number = 0; number < 3; ++number) {
    ::close(number);
    if (::open("/dev/null", O_RDWR) != number) return open_one_changed;
  }
  for (int number = 0; number < 3; ++number) {
    if (is_closed(subset, number)) ::close(number);
  }
  reserve_standard_descriptors();
  if (::open("/dev/null", O_RDWR) < 3) return next_file_is_standard;
  char byte = 0;
  for (int number = 0; number < 3; ++number) {
    if (!is_closed(subset, number)) {
      if (::write(number, &byte, 1) != 1) return open_one_changed;
      continue;
    }
    if (::write(number, &byte, 1) >= 0 || errno != EBADF) return closed_one_is_writable;
    if (::read(number, &byte, 1) >= 0 || errno != EBADF) return closed_one_is_readable;
  }
  return fine;
}

TEST(standard_descriptors, that_are_closed_are_taken_and_useless) {
  for (unsigned subset = 0; subset < 8; ++subset) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) ::_exit(look(subset));
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), fine) << "closed: " << subset;
  }
}

}  // namespace
}  // namespace troupe::testing
