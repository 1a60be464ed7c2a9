// Goal: a worker verifies only what encode() has written, and what it starts is no worker.
#include "runtime/process/worker_environment.hpp"

#include <cstdlib>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "messages/limits.hpp"
#include "runtime/os/unique_fd.hpp"

namespace troupe::testing {
namespace {

const worker_environment example{3, 63, 0};
constexpr const char* example_text = "version=3;channel=3;link=63;network=0";

TEST(worker_environment, comes_back_from_its_text) {
  EXPECT_EQ(encode(example), example_text);
  const auto parsed = parse_worker_environment(example_text);
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  EXPECT_EQ(*parsed, example);
  EXPECT_EQ(limits::worker_inherited_fd_max, 63);
}

TEST(worker_environment, every_other_text_is_refused) {
  const std::vector<std::string> texts = {
      "",
      ";;",
      "channel=3;link=4",
      "version=3;channel=3;link=4;network=0;",
      "version=3;channel=3;link=4;network=0;more=1",
      "version=3;channel=3;link=4",
      "version=3;channel=3;link=4;network=4",
      "version=3;channel=3;link=4;network=2",
      "version=3;channel=3;link=4;network=64",
      "version=3;link=4;channel=3;network=0",
      "version=3;channel=3;channel=4;network=0",
      "version=3;channel=3;link=3;network=0",
      "version=3;channel=2;link=4;network=0",
      "version=3;channel=64;link=4;network=0",
      "version=3;channel=-3;link=4;network=0",
      "version=3;channel=+3;link=4;network=0",
      "version=3;channel=03;link=4;network=0",
      "version=3;channel= 3;link=4;network=0",
      "version=3;channel=;link=4;network=0",
      "version=3;channel=4294967299;link=4;network=0",
      std::string(example_text) + std::string(limits::worker_environment_bytes_max, '0'),
  };
  for (const std::string& text : texts) {
    const auto parsed = parse_worker_environment(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, error_code::wire_malformed) << text;
  }
}

TEST(worker_environment, may_have_a_network) {
  const auto parsed = parse_worker_environment("version=3;channel=3;link=4;network=5");
  ASSERT_TRUE(parsed) << to_string(parsed.error());
  EXPECT_EQ(*parsed, (worker_environment{3, 4, 5}));
}

TEST(worker_environment, no_prefix_and_no_changed_byte_is_taken) {
  const std::string text = example_text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    // A number may be shorter.
    if (i < text.size() - 1) {
      EXPECT_FALSE(parse_worker_environment(text.substr(0, i))) << i;
    }
    for (const char other : {'\0', ';', '=', ' ', 'x', '-'}) {
      std::string changed = text;
      if (changed[i] == other) continue;
      changed[i] = other;
      EXPECT_FALSE(parse_worker_environment(changed)) << changed;
    }
  }
}

TEST(worker_environment, another_version_is_named_as_such) {
  for (const char* text : {"version=1;channel=3;ca=4;certificate=5;key=6;token=7;port=8", "version=4;new=1"}) {
    EXPECT_EQ(parse_worker_environment(text).error().code, error_code::wire_wrong_version);
  }
}

TEST(worker_environment, is_taken_once) {
  ASSERT_EQ(::unsetenv(worker_variable), 0);
  auto taken = take_worker_environment();
  ASSERT_TRUE(taken);
  EXPECT_FALSE(*taken);
  ASSERT_EQ(::setenv(worker_variable, example_text, 1), 0);
  taken = take_worker_environment();
  ASSERT_TRUE(taken && *taken);
  EXPECT_EQ(**taken, example);
  EXPECT_EQ(std::getenv(worker_variable), nullptr);
  EXPECT_FALSE(*take_worker_environment());
  ASSERT_EQ(::setenv(worker_variable, "nonsense", 1), 0);
  EXPECT_FALSE(take_worker_environment());
  EXPECT_EQ(std::getenv(worker_variable), nullptr);
}

TEST(worker_environment, is_closed_to_what_the_worker_starts) {
  const unique_fd channel(::fcntl(STDERR_FILENO, F_DUPFD, 10));
  const unique_fd link(::fcntl(STDERR_FILENO, F_DUPFD, 10));
  const unique_fd network(::fcntl(STDERR_FILENO, F_DUPFD, 10));
  ASSERT_TRUE(channel && link && network);
  ASSERT_EQ(::setenv(worker_variable, encode({channel.get(), link.get(), network.get()}).c_str(), 1), 0);
  ASSERT_TRUE(take_worker_environment());
  for (const unique_fd* each : {&channel, &link, &network}) EXPECT_EQ(::fcntl(each->get(), F_GETFD), FD_CLOEXEC);
}

}  // namespace
}  // namespace troupe::testing
