// Goal: the decisions of a training come back bit for bit and in order, or their journal is refused; one that was
// appended is in the file. Method: as for states: every cut and a flipped bit in every byte of a small journal, and
// records made by hand.
#include <bit>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "tests/runtime/journal/journal_support.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t steps = 6;

std::string bytes_of(std::uint64_t value, int bytes) {
  std::string text;
  for (int byte = 0; byte < bytes; ++byte) text += static_cast<char>((value >> (8 * byte)) & 0xFFU);
  return text;
}

/// As docs/journal.md describes it, made without our own encoder.
std::string record_of(const step_record& step, std::uint8_t applied) {
  std::string payload = "\3" + bytes_of(step.number, 8) + bytes_of(step.decision.call, 8) +
                        bytes_of(step.decision.step, 8) + bytes_of(applied, 1);
  for (const double each : {step.decision.gradient_scale, step.decision.learning_rate, step.weight, step.norm}) {
    payload += bytes_of(std::bit_cast<std::uint64_t>(each), 8);
  }
  payload += bytes_of(step.folded.size(), 4);
  for (const std::uint64_t word : step.folded) payload += bytes_of(word, 8);
  return record(payload);
}

std::string record_of(const step_record& step) {
  return record_of(step, step.decision.is_applied ? 1 : 0);
}

class journal_steps : public ::testing::Test {
 protected:
  journal_steps() {
    for (std::uint64_t i = 0; i < steps; ++i) whole_ += record_of(sample_step(i));
  }
  resumed resume(const std::string& content) {
    write_content(directory_.file(), content);
    return resume_all(directory_.file());
  }
  void expect_damaged(const std::string& content, const std::string& piece) {
    const resumed found = resume(content);
    ASSERT_FALSE(found.outcome) << piece;
    EXPECT_EQ(found.outcome.error().code, error_code::journal_damaged);
    EXPECT_THAT(to_string(found.outcome.error()), HasSubstr(piece));
  }
  static bool are_the_first(const std::vector<step_record>& found) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (record_of(found[i]) != record_of(sample_step(i))) return false;
    }
    return true;
  }
  journal_directory directory_;
  const std::string header_ = sample_journal(directory_.file(), 0);
  std::string whole_ = header_;
  const std::size_t record_bytes_ = record_of(sample_step(0)).size();
};

TEST_F(journal_steps, are_written_as_the_page_says_and_come_back) {
  std::filesystem::remove(directory_.file());
  const auto made = create_journal(directory_.file(), sample_pins);
  ASSERT_TRUE(made);
  for (std::uint64_t i = 0; i < steps; ++i) {
    ASSERT_TRUE((*made)->append(sample_step(i)));
    // It is there already when append() returns, for whatever becomes of this process.
    EXPECT_EQ(content_of(directory_.file()), whole_.substr(0, header_.size() + (i + 1) * record_bytes_));
  }
  ASSERT_TRUE((*made)->close());
  const auto after = (*made)->append(sample_step(steps));
  ASSERT_FALSE(after) << "a decision that is not written must not be told";
  EXPECT_EQ(after.error().code, error_code::journal_unwritable);
  const resumed found = resume_all(directory_.file());
  ASSERT_TRUE(found.outcome);
  EXPECT_EQ(found.steps.size(), steps);
  EXPECT_TRUE(are_the_first(found.steps));
}

TEST_F(journal_steps, come_behind_the_states_that_were_appended_before_them) {
  std::filesystem::remove(directory_.file());
  const auto made = create_journal(directory_.file(), sample_pins);
  ASSERT_TRUE(made);
  ASSERT_TRUE((*made)->append(sample_state(0)));
  ASSERT_TRUE((*made)->append(sample_step(7)));
  std::filesystem::copy_file(directory_.file(), directory_.file("copy"));
  const resumed found = resume_all(directory_.file("copy"));
  ASSERT_TRUE(found.outcome);
  EXPECT_EQ(found.states.size(), 1U);
  EXPECT_EQ(found.steps.size(), 1U);
}

TEST_F(journal_steps, that_a_full_disk_does_not_take_are_an_error) {
  journal_writer writer(unique_fd(::open("/dev/full", O_WRONLY | O_CLOEXEC)), "full.journal");
  const auto appended = writer.append(sample_step(0));
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, error_code::journal_unwritable);
  EXPECT_THAT(to_string(appended.error()), HasSubstr("full.journal: No space left on device"));
}

TEST_F(journal_steps, with_too_many_words_are_refused_before_anything_is_written) {
  journal_writer writer(unique_fd(::open("/dev/full", O_WRONLY | O_CLOEXEC)), "full.journal");
  step_record large = sample_step(0);
  large.folded.assign(limits::score_words_max + 1, 0);
  const auto appended = writer.append(large);
  ASSERT_FALSE(appended);
  EXPECT_THAT(appended.error().cause, HasSubstr("words, a record holds"));
  large.folded.pop_back();
  EXPECT_TRUE(resume(header_ + record_of(large)).outcome) << "the largest one can be read";
}

TEST_F(journal_steps, cut_anywhere_go_on_with_the_whole_ones) {
  for (std::size_t size = header_.size(); size <= whole_.size(); ++size) {
    const resumed found = resume(whole_.substr(0, size));
    ASSERT_TRUE(found.outcome) << size << ": " << to_string(found.outcome.error());
    EXPECT_EQ(found.steps.size(), (size - header_.size()) / record_bytes_) << size;
    EXPECT_TRUE(are_the_first(found.steps));
    EXPECT_EQ(content_of(directory_.file()), whole_.substr(0, header_.size() + found.steps.size() * record_bytes_));
  }
}

TEST_F(journal_steps, with_a_flipped_bit_are_found) {
  for (std::size_t at = header_.size(); at < whole_.size(); ++at) {
    std::string flipped = whole_;
    flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ (1U << (at % 8)));
    const resumed found = resume(flipped);
    EXPECT_TRUE(are_the_first(found.steps)) << at;
    if (!found.outcome) continue;
    // The very last record may count as one that was cut: its step is done again.
    EXPECT_GE(at, whole_.size() - record_bytes_);
    EXPECT_EQ(found.steps.size(), steps - 1);
  }
}

TEST_F(journal_steps, out_of_order_or_of_a_wrong_content_are_refused) {
  const auto nth = [&](std::uint64_t n) { return record_of(sample_step(n)); };
  expect_damaged(header_ + nth(0) + nth(2), "goes on with decision 2, expected 1");
  expect_damaged(header_ + nth(1) + nth(1), "goes on with decision 1, expected 2");
  EXPECT_TRUE(resume(header_ + nth(4) + nth(5)).outcome) << "a run may begin behind a checkpoint";
  step_record skipped = sample_step(4);
  skipped.decision.step = 4;
  expect_damaged(header_ + nth(3) + record_of(skipped), "decision 4 is about step 4, expected 3");
  expect_damaged(header_ + record_of(sample_step(0), 2), "no state and no step");
  const std::string fixed_part = "\3" + std::string(57, '\0');
  EXPECT_TRUE(resume(header_ + record(fixed_part + four_bytes(0))).outcome);
  expect_damaged(header_ + record(fixed_part + four_bytes(1)), "no state and no step");
  expect_damaged(header_ + record(fixed_part + four_bytes(0) + "x"), "no state and no step");
}

TEST_F(journal_steps, in_the_journal_of_an_evaluation_are_refused) {
  write_content(directory_.file(), whole_);
  const auto opened =
      resume_journal(directory_.file(), sample_pins, {.on_state = [](const score&) { return expected<void>{}; }});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, error_code::journal_damaged);
  EXPECT_THAT(opened.error().cause, HasSubstr("a step of a training"));
}

}  // namespace
}  // namespace troupe::testing
