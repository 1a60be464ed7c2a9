// Goal: what was folded comes back bit for bit and in order, a resumed journal goes on behind it, and a journal serves
// one process and one kind of run at a time. Method: small journals in a directory of their own.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "messages/limits.hpp"
#include "runtime/journal/journaling_fold.hpp"
#include "runtime/os/unique_fd.hpp"
#include "tests/runtime/journal/journal_support.hpp"

namespace troupe::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

void expect_error(const expected<void>& outcome, error_code code, const std::string& piece) {
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, code) << to_string(outcome.error());
  EXPECT_THAT(to_string(outcome.error()), HasSubstr(piece));
}

TEST(journal, gives_back_what_was_appended_and_goes_on_behind_it) {
  const journal_directory directory;
  sample_journal(directory.file(), 5);
  std::vector<score> seen;
  const auto opened = resume_journal(directory.file(), sample_pins, {.on_state = [&](const score& state) {
                                       seen.push_back(state);
                                       return expected<void>{};
                                     }});
  ASSERT_TRUE(opened) << to_string(opened.error());
  EXPECT_EQ(seen.size(), 5U);
  ASSERT_TRUE((*opened)->append(sample_state(5)));
  ASSERT_TRUE((*opened)->close());
  const resumed all = resume_all(directory.file());
  ASSERT_TRUE(all.outcome) << to_string(all.outcome.error());
  EXPECT_EQ(all.states.size(), 6U);
  EXPECT_TRUE(are_the_first(all.states));
}

TEST(journal, keeps_states_of_several_sinks_and_of_none_and_many_words) {
  const journal_directory directory;
  const auto made = create_journal(directory.file(), sample_pins);
  ASSERT_TRUE(made) << to_string(made.error());
  score empty = sample_state(0, 1);
  empty.samples = 0;
  empty.words.clear();
  score large = sample_state(0, 2);
  large.words.assign(limits::score_words_max, 0x8000000000000001ULL);
  for (const score& each : {sample_state(0), empty, large, sample_state(1)}) ASSERT_TRUE((*made)->append(each));
  large.words.push_back(0);
  expect_error((*made)->append(large), error_code::journal_unwritable, "words");
  ASSERT_TRUE((*made)->close());
  const resumed all = resume_all(directory.file());
  ASSERT_TRUE(all.outcome) << to_string(all.outcome.error());
  ASSERT_EQ(all.states.size(), 4U);
  EXPECT_EQ(all.states[1].sink, 1U);
  EXPECT_TRUE(all.states[1].words.empty());
  EXPECT_EQ(all.states[2].words, std::vector<std::uint64_t>(limits::score_words_max, 0x8000000000000001ULL));
}

TEST(journal, is_the_owners_alone_and_is_never_overwritten) {
  const journal_directory directory;
  const std::string before = sample_journal(directory.file(), 3);
  struct stat status {};
  ASSERT_EQ(::stat(directory.file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  const auto again = create_journal(directory.file(), sample_pins);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, error_code::journal_unwritable);
  EXPECT_THAT(again.error().fix, HasSubstr("--resume"));
  expect_error(check_journal(directory.file(), false), error_code::journal_unwritable, "exists already");
  EXPECT_TRUE(check_journal(directory.file(), true));
  EXPECT_EQ(content_of(directory.file()), before);
}

TEST(journal, whose_pins_are_too_long_is_not_made) {
  const journal_directory directory;
  const auto made = create_journal(directory.file(), {{"metrics", std::string(limits::journal_header_bytes_max, 'x')}});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, error_code::journal_unwritable);
  EXPECT_FALSE(std::filesystem::exists(directory.file()));
}

TEST(journal, that_does_not_exist_cannot_be_resumed) {
  const journal_directory directory;
  expect_error(resume_all(directory.file()).outcome, error_code::journal_missing, directory.file());
  expect_error(check_journal(directory.file(), true), error_code::journal_missing, directory.file());
  EXPECT_TRUE(check_journal(directory.file(), false));
  EXPECT_FALSE(std::filesystem::exists(directory.file()));
}

TEST(journal, that_is_a_directory_a_pipe_or_another_file_is_refused) {
  const journal_directory directory;
  expect_error(resume_all(directory.file("")).outcome, error_code::journal_unwritable, "directory");
  ASSERT_EQ(::mkfifo(directory.file("pipe").c_str(), 0600), 0);
  expect_error(resume_all(directory.file("pipe")).outcome, error_code::journal_damaged, "no regular file");
  write_content(directory.file("text"), "accuracy 0.99\n");
  expect_error(resume_all(directory.file("text")).outcome, error_code::journal_damaged, "does not begin as");
  EXPECT_EQ(content_of(directory.file("text")), "accuracy 0.99\n");
}

TEST(journal, names_every_pin_that_differs_with_both_values) {
  const journal_directory directory;
  const std::string before = sample_journal(directory.file(), 3);
  const auto other = resume_all(directory.file(),
                                {{"model", "abc"}, {"micro_batch", "32"}, {"threads", "1"}, {"partition", "0,4,15"}});
  ASSERT_FALSE(other.outcome);
  EXPECT_EQ(other.outcome.error().code, error_code::journal_mismatch);
  EXPECT_THAT(other.outcome.error().cause,
              AllOf(HasSubstr("micro_batch was 64 and is 32"), HasSubstr("threads was 2 and is 1"),
                    HasSubstr("partition was nothing and is 0,4,15"), Not(HasSubstr("model"))));
  EXPECT_TRUE(other.states.empty());
  EXPECT_EQ(content_of(directory.file()), before);
  expect_error(resume_all(directory.file(), {{"model", "abc"}, {"micro_batch", "64"}}).outcome,
               error_code::journal_mismatch, "threads was 2 and is nothing");
}

TEST(journal, serves_one_process_at_a_time) {
  const journal_directory directory;
  const std::string before = sample_journal(directory.file(), 3);
  // A lock belongs to the open file: a second descriptor stands for a second process.
  unique_fd other(::open(directory.file().c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
  expect_error(resume_all(directory.file()).outcome, error_code::journal_unwritable, "another process");
  EXPECT_EQ(content_of(directory.file()), before);
  other.reset();
  const auto opened =
      resume_journal(directory.file(), sample_pins, {.on_state = [](const score&) { return expected<void>{}; }});
  ASSERT_TRUE(opened);
  other.reset(::open(directory.file().c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_NE(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
  ASSERT_TRUE((*opened)->close());
  EXPECT_EQ(::flock(other.get(), LOCK_EX | LOCK_NB), 0);
}

TEST(journal, hands_on_what_its_reader_refuses) {
  const journal_directory directory;
  const std::string before = sample_journal(directory.file(), 3);
  const auto opened =
      resume_journal(directory.file(), sample_pins, {.on_state = [](const score& state) -> expected<void> {
                       if (state.id.index < 2) return {};
                       return fail(error_code::journal_damaged, "here", "not mine");
                     }});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().cause, "not mine");
  EXPECT_EQ(content_of(directory.file()), before);
}

class counting_fold final : public call_fold {
 public:
  expected<void> fold(const score& next) override {
    if (next.words.empty()) return fail(error_code::metric_failed, "fold", "no words");
    ++folded;
    return {};
  }
  int folded = 0;
};

TEST(journaling_fold, appends_what_was_folded_and_nothing_else) {
  const journal_directory directory;
  const auto made = create_journal(directory.file(), sample_pins);
  ASSERT_TRUE(made);
  const auto inner = std::make_shared<counting_fold>();
  journaling_fold fold(inner, *made);
  EXPECT_TRUE(fold.fold(sample_state(0)));
  score refused = sample_state(1);
  refused.words.clear();
  EXPECT_FALSE(fold.fold(refused));
  EXPECT_TRUE(fold.fold(sample_state(1)));
  ASSERT_TRUE((*made)->close());
  EXPECT_EQ(inner->folded, 2);
  const resumed all = resume_all(directory.file());
  EXPECT_EQ(all.states.size(), 2U);
  EXPECT_TRUE(are_the_first(all.states));
}

}  // namespace
}  // namespace troupe::testing
