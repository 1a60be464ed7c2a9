// Goal: parts make the blob that they were cut from, in memory for no more than was sent, and a peer's nonsense is
// refused. Method: reads back through the descriptor that a worker would get; what the memory takes is what fstat says.
#include "runtime/agent/blob_store.hpp"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages/limits.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t mebibyte = 1u << 20;

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

blob_part part(std::uint64_t number, std::uint64_t size, std::uint64_t offset, const std::string& text) {
  return {.blob = number, .size = size, .offset = offset, .content = bytes_of(text)};
}

std::string read_at(const blob& memory, std::uint64_t offset, std::size_t bytes) {
  std::string text(bytes, '?');
  const auto got = ::pread(memory.descriptor(), text.data(), bytes, static_cast<off_t>(offset));
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

struct stat status_of(const blob& memory) {
  struct stat found {};
  EXPECT_EQ(::fstat(memory.descriptor(), &found), 0);
  return found;
}

std::size_t blobs_of_this_process() {
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the listing's own
    if (std::filesystem::read_symlink(each.path(), gone).string().find("troupe-blob") != std::string::npos) ++count;
  }
  return count;
}

void expect_refused(const expected<void>& done, error_code code, const std::string& cause) {
  ASSERT_FALSE(done) << cause;
  EXPECT_EQ(done.error().code, code) << to_string(done.error());
  EXPECT_THAT(done.error().cause, HasSubstr(cause));
}

TEST(blob_store, puts_parts_in_their_places_in_any_order) {
  blob_store store;
  ASSERT_TRUE(store.add(part(1, 10, 5, "world")));
  ASSERT_TRUE(store.add(part(2, 3, 0, "two")));
  ASSERT_TRUE(store.add(part(1, 10, 0, "hello")));
  EXPECT_EQ(read_at(*store.find(1), 0, 11), "helloworld");
  EXPECT_EQ(read_at(*store.find(2), 0, 4), "two");
}

TEST(blob_store, a_blob_without_content_is_zero_and_takes_no_memory) {
  blob_store store;
  constexpr std::uint64_t size = limits::shm_slot_bytes_max;
  ASSERT_TRUE(store.add(part(1, size, 0, "")));
  const blob made = *store.find(1);
  EXPECT_EQ(status_of(made).st_size, static_cast<off_t>(size));
  EXPECT_EQ(status_of(made).st_blocks, 0);
  EXPECT_EQ(read_at(made, size - 4, 4), std::string(4, '\0'));
}

TEST(blob_store, takes_memory_for_what_was_sent_alone) {
  blob_store store;
  constexpr std::uint64_t size = 1024 * mebibyte;
  ASSERT_TRUE(store.add(part(1, size, 0, "first")));
  ASSERT_TRUE(store.add(part(1, size, size - 4, "last")));
  const blob made = *store.find(1);
  EXPECT_GT(status_of(made).st_blocks, 0);
  EXPECT_LE(status_of(made).st_blocks * 512, static_cast<blkcnt_t>(4 * mebibyte)) << "two pages, however large";
  EXPECT_EQ(read_at(made, 0, 6), std::string("first\0", 6));
  EXPECT_EQ(read_at(made, size - 5, 6), std::string("\0last", 5));
}

TEST(blob_store, refuses_parts_outside_of_their_blob) {
  constexpr auto greatest = ~std::uint64_t{0};
  for (const auto& [offset, text] : std::vector<std::pair<std::uint64_t, std::string>>{
           {8, "end"}, {10, "x"}, {11, ""}, {greatest, ""}, {greatest, "xx"}, {greatest - 1, "xx"}}) {
    blob_store store;
    expect_refused(store.add(part(1, 10, offset, text)), error_code::wire_malformed, "outside");
  }
  blob_store store;
  EXPECT_TRUE(store.add(part(1, 10, 10, ""))) << "nothing at its end";
  EXPECT_EQ(status_of(*store.find(1)).st_size, 10);
}

TEST(blob_store, refuses_a_changed_size) {
  blob_store store;
  ASSERT_TRUE(store.add(part(1, 10, 0, "hello")));
  expect_refused(store.add(part(1, 11, 0, "x")), error_code::wire_malformed, "size");
  EXPECT_EQ(read_at(*store.find(1), 0, 5), "hello");
}

TEST(blob_store, refuses_sizes_beyond_the_limit_before_it_takes_memory) {
  for (const std::uint64_t size : {std::uint64_t{0}, limits::shm_slot_bytes_max + 1, ~std::uint64_t{0}}) {
    blob_store store;
    expect_refused(store.add(part(1, size, 0, "")), error_code::wire_too_large, std::to_string(size));
    EXPECT_FALSE(store.find(1));
  }
}

TEST(blob_store, does_not_know_what_never_came_or_was_dropped) {
  blob_store store;
  expect_refused(store.find(1).map([](const blob&) {}), error_code::wire_malformed, "never came");
  ASSERT_TRUE(store.add(part(1, 5, 0, "hello")));
  const blob still_used = *store.find(1);
  store.drop(1);
  store.drop(2);
  EXPECT_FALSE(store.find(1));
  EXPECT_EQ(read_at(still_used, 0, 5), "hello");
  ASSERT_TRUE(store.add(part(3, 5, 0, "again")));
  store.clear();
  EXPECT_FALSE(store.find(3));
}

TEST(blob_store, keeps_no_descriptor_of_what_is_dropped) {
  ASSERT_EQ(blobs_of_this_process(), 0U);
  blob_store store;
  for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(store.add(part(i, 5, 0, "hello")));
  EXPECT_EQ(blobs_of_this_process(), 5U);
  store.drop(2);
  EXPECT_EQ(blobs_of_this_process(), 4U);
  store.clear();
  EXPECT_EQ(blobs_of_this_process(), 0U);
}

}  // namespace
}  // namespace troupe::testing
