// Goal: shared memory is what its header says, and nothing else is taken for it. Method: every way to make, grow, map
// and refuse it, with the kernel's own numbers (fstat, seals) as the judge.
#include "runtime/os/shared_memory.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace troupe::testing {
namespace {

constexpr std::uint64_t page = 64u << 10;

shared_memory made(std::uint64_t bytes) {
  auto memory = shared_memory::create("troupe-test", bytes);
  EXPECT_TRUE(memory) << to_string(memory.error());
  return std::move(*memory);
}

unique_fd twin(const shared_memory& memory) {
  return unique_fd(::fcntl(memory.descriptor(), F_DUPFD_CLOEXEC, 0));
}

struct stat status_of(const shared_memory& memory) {
  struct stat status {};
  EXPECT_EQ(::fstat(memory.descriptor(), &status), 0);
  return status;
}

void expect_refused(unique_fd descriptor, std::uint64_t bytes_min, const char* why) {
  const auto adopted = shared_memory::adopt(std::move(descriptor), bytes_min);
  ASSERT_FALSE(adopted) << why;
  EXPECT_EQ(adopted.error().code, error_code::wire_malformed) << why;
  EXPECT_NE(adopted.error().cause.find(why), std::string::npos) << adopted.error().cause;
}

TEST(shared_memory, is_for_its_user_alone) {
  EXPECT_EQ(status_of(made(page)).st_mode & 0777u, 0600u);
}

TEST(shared_memory, two_mappings_see_the_same_bytes) {
  shared_memory memory = made(2 * page);
  const auto first = memory.map(0, 2 * page);
  ASSERT_TRUE(first);
  auto adopted = shared_memory::adopt(twin(memory), 2 * page);
  ASSERT_TRUE(adopted);
  const auto second = adopted->map(page, page);
  ASSERT_TRUE(second);
  EXPECT_EQ(first->bytes().size(), 2 * page);
  EXPECT_EQ(std::ranges::count(first->bytes(), std::byte{0}), static_cast<std::ptrdiff_t>(2 * page));
  first->bytes()[page + 7] = std::byte{42};
  EXPECT_EQ(second->bytes()[7], std::byte{42});
}

TEST(shared_memory, is_closed_on_exec_and_sealed_for_good) {
  shared_memory memory = made(page);
  EXPECT_TRUE(::fcntl(memory.descriptor(), F_GETFD) & FD_CLOEXEC);
  EXPECT_EQ(::fcntl(memory.descriptor(), F_GET_SEALS), F_SEAL_SHRINK | F_SEAL_SEAL);
  EXPECT_NE(::ftruncate(memory.descriptor(), 1), 0) << "mapped pages cannot be taken away";
  EXPECT_NE(::fcntl(memory.descriptor(), F_ADD_SEALS, F_SEAL_GROW), 0);
}

TEST(shared_memory, grows_and_never_shrinks) {
  shared_memory memory = made(page);
  ASSERT_TRUE(memory.grow(3 * page));
  EXPECT_EQ(memory.size(), 3 * page);
  ASSERT_TRUE(memory.grow(page));
  EXPECT_EQ(memory.size(), 3 * page);
  EXPECT_TRUE(memory.map(2 * page, page));
  const auto refused = memory.grow(std::numeric_limits<std::uint64_t>::max());
  ASSERT_FALSE(refused);
  EXPECT_EQ(memory.size(), 3 * page);
}

TEST(shared_memory, takes_memory_when_committed_and_gives_it_back) {
  shared_memory memory = made(4 * page);
  EXPECT_EQ(status_of(memory).st_blocks, 0);
  ASSERT_TRUE(memory.commit(page, page));
  EXPECT_EQ(status_of(memory).st_blocks, static_cast<blkcnt_t>(page / 512));
  EXPECT_EQ(memory.size(), 4 * page);
  const auto pages = memory.map(page, page);
  ASSERT_TRUE(pages);
  pages->bytes()[0] = std::byte{1};
  memory.discard(page, page);
  EXPECT_EQ(status_of(memory).st_blocks, 0);
  EXPECT_EQ(pages->bytes()[0], std::byte{0}) << "a hole reads as zero and does not fault";
}

TEST(shared_memory, a_mapping_is_within_the_file_and_outlives_the_descriptor) {
  shared_memory memory = made(2 * page);
  constexpr std::uint64_t huge = std::numeric_limits<std::uint64_t>::max();
  const std::pair<std::uint64_t, std::uint64_t> outside[] = {{0, 0},        {0, 2 * page + 1}, {page, 2 * page},
                                                             {3 * page, 1}, {huge, page},      {page, huge}};
  for (const auto& [offset, bytes] : outside) {
    const auto refused = memory.map(offset, bytes);
    ASSERT_FALSE(refused) << offset << " " << bytes;
    EXPECT_EQ(refused.error().code, error_code::wire_malformed);
  }
  const auto unaligned = memory.map(1, page);
  ASSERT_FALSE(unaligned);
  EXPECT_EQ(unaligned.error().code, error_code::process_failed) << "what the system refuses";
  memory_mapping kept;
  {
    shared_memory gone = std::move(memory);
    kept = std::move(*gone.map(0, page));
  }
  std::memset(kept.bytes().data(), 7, kept.bytes().size());
  memory_mapping moved = std::move(kept);
  EXPECT_TRUE(kept.bytes().empty());
  EXPECT_EQ(moved.bytes()[page - 1], std::byte{7});
}

TEST(shared_memory, only_sealed_memory_is_adopted) {
  expect_refused(unique_fd(), 1, "no memory file");
  expect_refused(unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC)), 0, "no memory file");
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const unique_fd written(ends[1]);
  expect_refused(unique_fd(ends[0]), 0, "no memory file");
  expect_refused(unique_fd(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING)), 0, "not sealed");
  expect_refused(unique_fd(::memfd_create("sealed otherwise", MFD_CLOEXEC)), 0, "not sealed");
  const shared_memory small = made(page);
  expect_refused(twin(small), page + 1, "65536 bytes, not 65537 bytes");
  EXPECT_TRUE(shared_memory::adopt(twin(small), page));
}

TEST(shared_memory, commits_only_what_is_within_the_file) {
  shared_memory memory = made(page);
  for (const auto& [offset, bytes] : {std::pair{std::uint64_t{0}, page + 1}, std::pair{page + 1, page}}) {
    const auto refused = memory.commit(offset, bytes);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::wire_malformed);
  }
  EXPECT_EQ(status_of(memory).st_blocks, 0);
}

// Through a descriptor that cannot write: were the request to reach the kernel, it would fail there, and not take the
// machine's memory.
TEST(shared_memory, does_not_commit_more_than_the_machine_has) {
  constexpr std::uint64_t too_much = std::uint64_t{1} << 50;
  shared_memory memory = made(page);
  ASSERT_TRUE(memory.grow(too_much));
  const std::string path = "/proc/self/fd/" + std::to_string(memory.descriptor());
  auto readable = shared_memory::adopt(unique_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), page);
  ASSERT_TRUE(readable) << to_string(readable.error());
  for (const std::uint64_t bytes : {too_much, page}) {
    const auto refused = readable->commit(0, bytes);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, error_code::process_failed);
    EXPECT_EQ(refused.error().cause.find("to spare") != std::string::npos, bytes == too_much) << refused.error().cause;
    EXPECT_FALSE(refused.error().fix.empty());
  }
  EXPECT_EQ(status_of(memory).st_blocks, 0);
}

}  // namespace
}  // namespace troupe::testing
