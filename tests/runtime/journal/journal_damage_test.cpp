// Goal: whatever happened to a journal, it is resumed from states that were really written, a prefix of them, or
// refused; memory stays bounded by the limits. Method: every cut and every flipped bit of a small journal, and records
// made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "tests/runtime/journal/journal_support.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t states = 6;

/// The head of a record whose payload never comes.
std::string head_of(std::uint32_t length) {
  return four_bytes(length) + checksum(four_bytes(length));
}

std::string state_payload(std::uint32_t sink, std::uint32_t index, std::uint32_t words, const std::string& rest) {
  const std::string zero = four_bytes(0);
  return std::string(1, '\2') + four_bytes(sink) + four_bytes(index) + zero + four_bytes(64) + zero +
         four_bytes(words) + rest;
}

class damaged_journal : public ::testing::Test {
 protected:
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
  journal_directory directory_;
  const std::string header_ = sample_journal(directory_.file(), 0);
  const std::string whole_ = sample_journal(directory_.file(), states);
  const std::size_t record_bytes_ = (whole_.size() - header_.size()) / states;
};

TEST_F(damaged_journal, cut_anywhere_goes_on_with_its_whole_records) {
  for (std::size_t size = 0; size <= whole_.size(); ++size) {
    const resumed found = resume(whole_.substr(0, size));
    ASSERT_TRUE(found.outcome) << size << ": " << to_string(found.outcome.error());
    EXPECT_EQ(found.states.size(), size < header_.size() ? 0 : (size - header_.size()) / record_bytes_) << size;
    EXPECT_TRUE(are_the_first(found.states));
    // An incomplete record is gone, and a header that was cut is written again.
    EXPECT_EQ(content_of(directory_.file()), whole_.substr(0, header_.size() + found.states.size() * record_bytes_));
  }
}

TEST_F(damaged_journal, cut_within_the_header_of_another_run_is_refused) {
  write_content(directory_.file(), header_.substr(0, header_.size() - 1));
  const resumed found = resume_all(directory_.file(), {{"model", "other"}});
  ASSERT_FALSE(found.outcome);
  EXPECT_EQ(found.outcome.error().code, error_code::journal_damaged);
}

TEST_F(damaged_journal, with_one_flipped_bit_is_found) {
  for (std::size_t at = 0; at < whole_.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string flipped = whole_;
      flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ (1U << bit));
      const resumed found = resume(flipped);
      EXPECT_TRUE(are_the_first(found.states)) << at;
      if (found.outcome) {
        // The very last record may count as one that was cut: its micro-batch is evaluated again.
        EXPECT_GE(at, whole_.size() - record_bytes_);
        EXPECT_EQ(found.states.size(), states - 1);
      } else {
        EXPECT_EQ(found.outcome.error().code, error_code::journal_damaged);
        EXPECT_THAT(found.outcome.error().where, HasSubstr(directory_.file()));
      }
    }
  }
}

TEST_F(damaged_journal, with_zeros_where_power_was_lost_goes_on_before_them) {
  for (const std::size_t zeros : {1U, 7U, 8U, 100U, 100000U}) {
    const resumed found = resume(whole_ + std::string(zeros, '\0'));
    ASSERT_TRUE(found.outcome) << to_string(found.outcome.error());
    EXPECT_EQ(found.states.size(), states);
    EXPECT_EQ(content_of(directory_.file()), whole_);
  }
  const std::string cut = whole_.substr(0, whole_.size() - 10);
  const resumed found = resume(cut + std::string(5000, '\0'));
  ASSERT_TRUE(found.outcome) << to_string(found.outcome.error());
  EXPECT_EQ(found.states.size(), states - 1);
  expect_damaged(cut + std::string(5000, '\0') + "x", "does not match its checksum");
}

// Found by the simulator.
TEST_F(damaged_journal, with_zeros_from_within_a_head_on_goes_on_before_it) {
  const std::size_t last = whole_.size() - record_bytes_;
  for (std::size_t kept = 1; kept < 8; ++kept) {
    const std::string cut = whole_.substr(0, last + kept) + std::string(5000, '\0');
    const resumed found = resume(cut);
    ASSERT_TRUE(found.outcome) << to_string(found.outcome.error());
    EXPECT_EQ(found.states.size(), states - 1);
    EXPECT_EQ(content_of(directory_.file()), whole_.substr(0, last));
    expect_damaged(cut + "x", "the length of a record does not match its checksum");
  }
}

TEST_F(damaged_journal, with_more_zeros_than_a_loss_of_power_leaves_is_refused_without_reading_them) {
  for (const std::size_t cut : {0U, 10U}) {
    write_content(directory_.file(), whole_.substr(0, whole_.size() - cut));
    // Read at 4 GB/s, they would take 17 minutes, and the test its time-out.
    std::filesystem::resize_file(directory_.file(), std::uintmax_t{4} << 40U);
    const resumed found = resume_all(directory_.file());
    ASSERT_FALSE(found.outcome);
    EXPECT_EQ(found.outcome.error().code, error_code::journal_damaged);
    EXPECT_THAT(found.outcome.error().where, HasSubstr(", byte "));
    EXPECT_EQ(std::filesystem::file_size(directory_.file()), std::uintmax_t{4} << 40U) << "it was changed";
  }
}

TEST_F(damaged_journal, with_as_many_zeros_as_it_may_have_goes_on) {
  write_content(directory_.file(), whole_);
  std::filesystem::resize_file(directory_.file(), whole_.size() + limits::journal_zeros_max);
  const resumed found = resume_all(directory_.file());
  ASSERT_TRUE(found.outcome) << to_string(found.outcome.error());
  EXPECT_EQ(found.states.size(), states);
  EXPECT_EQ(content_of(directory_.file()), whole_);
}

TEST_F(damaged_journal, without_a_record_or_with_one_twice_is_refused) {
  const auto nth = [&](std::size_t n) { return whole_.substr(header_.size() + n * record_bytes_, record_bytes_); };
  expect_damaged(header_ + nth(0) + nth(2), "goes on with micro-batch 2, expected 1");
  expect_damaged(header_ + nth(0) + nth(0), "goes on with micro-batch 0, expected 1");
  expect_damaged(header_ + nth(1), "goes on with micro-batch 1, expected 0");
}

TEST_F(damaged_journal, allocates_nothing_for_lengths_that_are_a_lie) {
  expect_damaged(header_ + head_of(0xFFFFFFFFU), "allowed are");
  expect_damaged(header_ + head_of(static_cast<std::uint32_t>(limits::journal_record_bytes_max) + 1), "allowed are");
  expect_damaged("TROUPE-J" + head_of(static_cast<std::uint32_t>(limits::journal_header_bytes_max) + 1), "allowed are");
  // Allowed, but beyond the end of the file: a record that was cut.
  EXPECT_TRUE(resume(header_ + head_of(static_cast<std::uint32_t>(limits::journal_record_bytes_max))).outcome);
}

TEST_F(damaged_journal, with_good_checksums_and_a_wrong_content_is_refused) {
  expect_damaged(header_ + record(""), "no state and no step");
  expect_damaged(header_ + record("\1"), "no state and no step");
  expect_damaged(header_ + record("\3"), "no state and no step");
  expect_damaged(header_ + record(state_payload(0, 0, 0, "x")), "no state and no step");
  expect_damaged(header_ + record(state_payload(0, 0, 1, "1234567")), "no state and no step");
  expect_damaged(header_ + record(state_payload(0, 0, 0x20000000U, "12345678")), "no state and no step");
  expect_damaged("TROUPE-J" + record(state_payload(0, 0, 0, "")), "no header");
  expect_damaged("TROUPE-J" + record("\1" + four_bytes(0xFFFFFFFFU)), "no header");
  expect_damaged("TROUPE-J" + record("\1" + four_bytes(1) + four_bytes(0xFFFFFFF0U) + "name"), "no header");
  EXPECT_TRUE(resume(header_ + record(state_payload(0, 0, 1, "12345678"))).outcome);
}

std::string text_of(const std::string& text) {
  return four_bytes(static_cast<std::uint32_t>(text.size())) + text;
}

std::string header_with(const journal_pins& pins) {
  std::string payload = "\1" + four_bytes(static_cast<std::uint32_t>(pins.size()));
  for (const journal_pin& each : pins) payload += text_of(each.name) + text_of(each.value);
  return "TROUPE-J" + record(payload);
}

TEST_F(damaged_journal, that_does_not_name_its_bits_has_the_first_and_goes_on) {
  journal_pins pins = {{"journal version", "2"}};
  pins.insert(pins.end(), sample_pins.begin(), sample_pins.end());
  EXPECT_TRUE(resume(header_with(pins)).outcome);
  pins.push_back({"bits", "1"});
  EXPECT_TRUE(resume(header_with(pins)).outcome);
  pins.back().value = "2";
  const resumed found = resume(header_with(pins));
  ASSERT_FALSE(found.outcome);
  EXPECT_EQ(found.outcome.error().code, error_code::journal_mismatch);
  EXPECT_THAT(found.outcome.error().cause, HasSubstr("bits was 2 and is 1"));
}

TEST_F(damaged_journal, tells_a_pin_only_where_its_header_is_whole) {
  EXPECT_EQ(journal_pin_of(directory_.file(), "threads"), "2");
  EXPECT_EQ(journal_pin_of(directory_.file(), "others"), std::nullopt);
  EXPECT_EQ(journal_pin_of(directory_.file("none"), "threads"), std::nullopt);
  EXPECT_EQ(journal_pin_of(directory_.file(""), "threads"), std::nullopt);
  write_content(directory_.file(), header_.substr(0, header_.size() - 1));
  EXPECT_EQ(journal_pin_of(directory_.file(), "threads"), std::nullopt);
  write_content(directory_.file(), "no journal, but long enough for one");
  EXPECT_EQ(journal_pin_of(directory_.file(), "threads"), std::nullopt);
}

TEST_F(damaged_journal, of_another_version_is_another_run) {
  const std::string other =
      "TROUPE-J" + record("\1" + four_bytes(1) + four_bytes(15) + "journal version" + four_bytes(1) + "1");
  const resumed found = resume(other);
  ASSERT_FALSE(found.outcome);
  EXPECT_EQ(found.outcome.error().code, error_code::journal_mismatch);
  EXPECT_THAT(found.outcome.error().cause, HasSubstr("journal version was 1 and is 2"));
}

}  // namespace
}  // namespace troupe::testing
