// Goal: the text of a record is one line that says level, stage and rank, whatever a model or worker wrote into it.
// Method: hostile texts, and the bytes that must come out.
#include <utility>

#include <gtest/gtest.h>

#include <troupe/log_record.hpp>

namespace troupe {
namespace {

TEST(text_of_a_record, has_level_stage_and_rank) {
  EXPECT_EQ(to_string(log_record{.text = "plain"}), "plain");
  EXPECT_EQ(to_string(log_record{.level = log_level::debug, .text = "a", .rank = 3}), "debug: [rank 3] a");
  EXPECT_EQ(to_string(log_record{.level = log_level::warning, .text = "a", .rank = 3, .stage = "stage 1"}),
            "warning: [stage 1, rank 3] a");
  EXPECT_EQ(to_string(log_record{.level = log_level::error, .text = "error E0601: a", .stage = "stage 1"}),
            "[stage 1] error E0601: a");
}

TEST(text_of_a_record, cannot_forge_a_line_or_drive_a_terminal) {
  const auto line = [](std::string text) { return to_string(log_record{.text = std::move(text)}); };
  EXPECT_EQ(line("a\x1b[2J\r\b\x7f\x01z"), "a\\x1b[2J\\x0d\\x08\\x7f\\x01z");
  EXPECT_EQ(line(std::string("a\0z", 3)), "a\\x00z");
  EXPECT_EQ(line("a\nwarning: b\n  fix: c\n"), "a\n  warning: b\n  fix: c\n  ");
  EXPECT_EQ(line("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8e\xad\t."),
            "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8e\xad\t.");
  EXPECT_EQ(line("\xc2\x9b"
                 "2J"),
            "\\xc2\\x9b2J")
      << "a control character of two bytes";
  EXPECT_EQ(line("\x9b\xff\xc3"), "\\x9b\\xff\\xc3") << "no UTF-8";
  EXPECT_EQ(line("\xe0\x80\x8a\xed\xa0\x80\xc0\x8a"), "\\xe0\\x80\\x8a\\xed\\xa0\\x80\\xc0\\x8a")
      << "too long, no character";
  EXPECT_EQ(to_string(log_record{.text = "a", .stage = "s\n\x1b"}), "[s\n  \\x1b] a");
}

}  // namespace
}  // namespace troupe
