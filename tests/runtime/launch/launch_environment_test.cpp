// Goal: a driver verifies only what encode() has written, once, and what it starts is no driver.
#include "runtime/launch/launch_environment.hpp"

#include <cstdlib>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/os/unique_fd.hpp"

namespace troupe::testing {
namespace {

TEST(launch_environment, comes_back_from_its_text) {
  EXPECT_EQ(encode(launch_environment{63}), "version=1;channel=63");
  const auto parsed = parse_launch_environment("version=1;channel=63");
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  EXPECT_EQ(parsed->channel, 63);
}

TEST(launch_environment, every_other_text_is_refused) {
  for (const char* text :
       {"", "channel=3", "version=1;", "version=1;channel=", "version=1;channel=2", "version=1;channel=64",
        "version=1;channel=03", "version=1;channel=+3", "version=1;channel=3;", "version=1;channel=3 ",
        "version=1;channel=18446744073709551619", "version=1;link=3"}) {
    const auto parsed = parse_launch_environment(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, error_code::wire_malformed) << text;
  }
  EXPECT_EQ(parse_launch_environment("version=2;channel=3").error().code, error_code::wire_wrong_version);
}

TEST(launch_environment, is_taken_once_and_closed_to_what_the_driver_starts) {
  ASSERT_EQ(::unsetenv(launch_variable), 0);
  auto taken = take_launch_environment();
  ASSERT_TRUE(taken);
  EXPECT_FALSE(*taken);
  const unique_fd channel(::fcntl(STDERR_FILENO, F_DUPFD, 10));
  ASSERT_TRUE(channel);
  ASSERT_EQ(::setenv(launch_variable, encode(launch_environment{channel.get()}).c_str(), 1), 0);
  taken = take_launch_environment();
  ASSERT_TRUE(taken && *taken);
  EXPECT_EQ((*taken)->channel, channel.get());
  EXPECT_EQ(::fcntl(channel.get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(std::getenv(launch_variable), nullptr);
  ASSERT_EQ(::setenv(launch_variable, "nonsense", 1), 0);
  EXPECT_FALSE(take_launch_environment());
  EXPECT_EQ(std::getenv(launch_variable), nullptr);
}

}  // namespace
}  // namespace troupe::testing
