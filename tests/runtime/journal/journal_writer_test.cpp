// Goal: appended states reach the file without a close, a disk that is full is told once and leaves a journal that can
// be read, and any number of threads may append and close. Method: /dev/full, a limit on the size of files, real
// threads; waits are for the file to grow, with a deadline.
#include <chrono>
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "messages/limits.hpp"
#include "tests/runtime/journal/journal_support.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using clock = std::chrono::steady_clock;

bool grows_to(const std::string& path, std::uintmax_t size) {
  const auto end = clock::now() + std::chrono::seconds(20);
  while (std::filesystem::file_size(path) < size) {
    if (clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

/// No file of this process may grow beyond `size`: write() then fails as on a full disk.
class file_size_limit {
 public:
  explicit file_size_limit(rlim_t size) {
    before_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limited = before_;
    limited.rlim_cur = size;
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  file_size_limit(const file_size_limit&) = delete;
  file_size_limit& operator=(const file_size_limit&) = delete;
  ~file_size_limit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_handler_);
  }

 private:
  rlimit before_{};
  void (*before_handler_)(int) = nullptr;
};

TEST(journal_writer, writes_without_being_closed) {
  const journal_directory directory;
  const auto header_bytes = sample_journal(directory.file(), 0).size();
  const auto bytes_of_two = sample_journal(directory.file(), 2).size();
  ASSERT_GT(bytes_of_two, header_bytes);
  std::filesystem::remove(directory.file());
  const auto made = create_journal(directory.file(), sample_pins);
  ASSERT_TRUE(made);
  EXPECT_EQ(std::filesystem::file_size(directory.file()), header_bytes);
  ASSERT_TRUE((*made)->append(sample_state(0)));
  ASSERT_TRUE((*made)->append(sample_state(1)));
  EXPECT_TRUE(grows_to(directory.file(), bytes_of_two));
  // The journal that a kill would leave now.
  std::filesystem::copy_file(directory.file(), directory.file("copy"));
  const resumed all = resume_all(directory.file("copy"));
  EXPECT_TRUE(all.outcome);
  EXPECT_EQ(all.states.size(), 2U);
  EXPECT_TRUE((*made)->close());
  EXPECT_TRUE((*made)->close());
  EXPECT_TRUE((*made)->append(sample_state(2)));
  EXPECT_EQ(std::filesystem::file_size(directory.file()), bytes_of_two);
}

TEST(journal_writer, tells_a_full_device_at_the_latest_when_closed) {
  journal_writer writer(unique_fd(::open("/dev/full", O_WRONLY | O_CLOEXEC)), "full.journal");
  static_cast<void>(writer.append(sample_state(0)));
  const auto closed = writer.close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, error_code::journal_unwritable);
  EXPECT_THAT(to_string(closed.error()), HasSubstr("full.journal: No space left on device"));
  EXPECT_FALSE(writer.append(sample_state(1)));
}

TEST(journal_writer, fails_an_append_after_the_disk_was_full_and_leaves_a_journal_to_go_on_with) {
  const journal_directory directory;
  const auto made = create_journal(directory.file(), sample_pins);
  ASSERT_TRUE(made);
  {
    const file_size_limit limit(10000);
    const auto end = clock::now() + std::chrono::seconds(20);
    std::uint64_t index = 0;
    expected<void> appended;
    while (appended && clock::now() < end) {
      appended = (*made)->append(sample_state(index++));
      if (index % 100 == 0) std::this_thread::yield();
    }
    ASSERT_FALSE(appended);
    EXPECT_EQ(appended.error().code, error_code::journal_unwritable);
    EXPECT_THAT(appended.error().cause, HasSubstr("File too large"));
    EXPECT_FALSE((*made)->close());
  }
  EXPECT_EQ(std::filesystem::file_size(directory.file()), 10000U);
  const resumed all = resume_all(directory.file());
  ASSERT_TRUE(all.outcome) << to_string(all.outcome.error());
  EXPECT_GT(all.states.size(), 100U);
  EXPECT_TRUE(are_the_first(all.states));
}

TEST(create_journal, that_cannot_write_its_header_leaves_no_file) {
  const journal_directory directory;
  const file_size_limit limit(10);
  const auto made = create_journal(directory.file(), sample_pins);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, error_code::journal_unwritable);
  EXPECT_FALSE(std::filesystem::exists(directory.file()));
}

TEST(journal_writer, takes_more_than_its_queue_holds) {
  const journal_directory directory;
  const auto made = create_journal(directory.file(), sample_pins);
  ASSERT_TRUE(made);
  score large = sample_state(0);
  large.words.assign(limits::score_words_max / 2, 7);
  constexpr std::uint64_t count = 12;
  for (std::uint64_t i = 0; i < count; ++i) {
    large.id.index = i;
    ASSERT_TRUE((*made)->append(large));
  }
  ASSERT_TRUE((*made)->close());
  ASSERT_GT(std::filesystem::file_size(directory.file()), 2 * limits::journal_queue_bytes_max);
  EXPECT_EQ(resume_all(directory.file()).states.size(), count);
}

TEST(journal_writer, may_be_closed_while_others_append) {
  const journal_directory directory;
  const auto made = create_journal(directory.file(), sample_pins);
  ASSERT_TRUE(made);
  std::thread appending([&] {
    for (std::uint64_t i = 0; i < 20000; ++i) EXPECT_TRUE((*made)->append(sample_state(i)));
  });
  std::thread closing([&] { EXPECT_TRUE((*made)->close()); });
  EXPECT_TRUE((*made)->close());
  appending.join();
  closing.join();
  const resumed all = resume_all(directory.file());
  EXPECT_TRUE(all.outcome);
  EXPECT_TRUE(are_the_first(all.states));
}

}  // namespace
}  // namespace troupe::testing
