// Goal: what a process lacks is told before anything is made, with need and supply; a thread that
// the system does not give is an error value. Method: soft limits of this process, set for one call. Limits of threads,
// which do not hold for the super-user, are in tests/processes/resource_check_test.cpp.
#include "runtime/os/resource_check.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <optional>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/os/open_file_limit.hpp"
#include "runtime/os/start_thread.hpp"

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::size_t entries_of(const char* directory) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
}

/// Soft, so that it can be taken back.
class limited {
 public:
  limited(decltype(RLIMIT_AS) which, rlim_t value) : which_(which) {
    EXPECT_EQ(::getrlimit(which_, &before_), 0);
    const rlimit now{.rlim_cur = value, .rlim_max = before_.rlim_max};
    EXPECT_EQ(::setrlimit(which_, &now), 0);
  }
  limited(const limited&) = delete;
  limited& operator=(const limited&) = delete;
  ~limited() { EXPECT_EQ(::setrlimit(which_, &before_), 0); }

 private:
  decltype(RLIMIT_AS) which_;
  rlimit before_{};
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool has_shadow_memory = true;
#else
constexpr bool has_shadow_memory = false;
#endif

std::uint64_t addresses_in_use() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

TEST(room, is_given_back) {
  std::thread([] {}).join();  // with the first one ThreadSanitizer starts another of its own, which stays
  const auto threads = entries_of("/proc/self/task");
  const auto descriptors = entries_of("/proc/self/fd");
  const auto room = ensure_resources(
      {.where = "test", .threads = 20, .threads_elsewhere = 30, .descriptors = 40, .address_bytes = 1u << 30});
  ASSERT_TRUE(room) << to_string(room.error());
  EXPECT_EQ(entries_of("/proc/self/task"), threads);
  EXPECT_EQ(entries_of("/proc/self/fd"), descriptors);
}

TEST(room, for_nothing_is_always_there) {
  EXPECT_TRUE(ensure_resources({.where = "test"}));
}

std::size_t free_numbers_below(int limit) {
  std::size_t found = 0;
  for (int number = 0; number < limit; ++number) found += ::fcntl(number, F_GETFD) < 0 ? 1 : 0;
  return found;
}

/// In a process of its own: a hard limit cannot be taken back.
void in_child(const std::function<void()>& what) {
  EXPECT_EXIT(
      {
        what();
        std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

void limit_files(rlim_t soft, rlim_t hard) {
  const rlimit now{.rlim_cur = soft, .rlim_max = hard};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
}

rlim_t soft_file_limit() {
  rlimit now{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  return now.rlim_cur;
}

void expect_descriptors_counted() {
  constexpr int limit = 60;
  const std::size_t there = free_numbers_below(limit);
  limit_files(limit, limit);
  EXPECT_TRUE(ensure_resources({.where = "test", .descriptors = there}));
  const auto short_of_one = ensure_resources({.where = "test", .descriptors = there + 1});
  ASSERT_FALSE(short_of_one);
  EXPECT_EQ(short_of_one.error().code, error_code::process_failed);
  EXPECT_THAT(short_of_one.error().cause,
              AllOf(HasSubstr("up to " + std::to_string(there + 1) + " more open files are needed"),
                    HasSubstr("the system gives " + std::to_string(there) + " (ulimit -n: 60)")));
  EXPECT_THAT(short_of_one.error().fix, HasSubstr("to at least 61,"));
}

TEST(room, for_descriptors_is_counted_to_the_last_one) {
  in_child(expect_descriptors_counted);
}

TEST(room, for_descriptors_raises_the_soft_limit_where_that_is_too_low_and_only_there) {
  in_child([] {
    const std::size_t there = free_numbers_below(60);
    limit_files(60, 200);
    EXPECT_TRUE(ensure_resources({.where = "test", .descriptors = there}));
    EXPECT_EQ(soft_file_limit(), 60U);
    EXPECT_TRUE(ensure_resources({.where = "test", .descriptors = there + 100}));
    EXPECT_EQ(soft_file_limit(), 200U);
    const auto refused = ensure_resources({.where = "test", .descriptors = there + 300});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().fix, HasSubstr("to at least 360,")) << "more than the hard limit";
    EXPECT_TRUE(restore_open_file_limit());
    EXPECT_EQ(soft_file_limit(), 60U);
  });
}

TEST(room, for_addresses_is_told_with_its_limit) {
  if (has_shadow_memory) GTEST_SKIP() << "the sanitizer takes more addresses than any limit";
  constexpr std::uint64_t spare = 512u << 20;
  const limited memory(RLIMIT_AS, addresses_in_use() + spare);
  EXPECT_TRUE(ensure_resources({.where = "test", .address_bytes = spare / 2}));
  const auto refused = ensure_resources({.where = "test", .address_bytes = 2 * spare});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::process_failed);
  EXPECT_THAT(refused.error().cause, AllOf(HasSubstr("1024 MiB of addresses are needed"), HasSubstr("ulimit -v: ")));
}

TEST(room, for_stacks_is_told_with_the_number_of_threads) {
  if (has_shadow_memory) GTEST_SKIP() << "the sanitizer takes more addresses than any limit";
  const limited memory(RLIMIT_AS, addresses_in_use() + (64u << 20));
  const auto refused = ensure_resources({.where = "test", .threads = 1000});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::process_failed);
  EXPECT_THAT(refused.error().cause, AllOf(HasSubstr("up to 1000 more threads are needed"),
                                           HasSubstr("the system gives "), HasSubstr("KiB)")));
}

TEST(a_thread_that_the_system_does_not_give, is_an_error_value) {
  if (has_shadow_memory) GTEST_SKIP() << "the sanitizer takes more addresses than any limit";
  const limited memory(RLIMIT_AS, addresses_in_use());
  std::promise<void> over;
  const std::shared_future<void> end = over.get_future().share();
  std::vector<std::thread> running;  // the first ones may get stacks of threads that have ended
  std::optional<error> refused;
  while (!refused && running.size() < 1000) {
    auto one = start_thread("stage 7", [end] { end.wait(); });
    if (one) {
      running.push_back(std::move(*one));
    } else {
      refused = one.error();
    }
  }
  over.set_value();
  for (std::thread& each : running) each.join();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, error_code::process_failed);
  EXPECT_EQ(refused->where, "stage 7");
}

}  // namespace
}  // namespace troupe::testing
