// Goal: the bar looks like tqdm's, fits its width, and is drawn no more often than promised. Method: times are passed
// in, so that nothing waits; the expected lines are written out.
#include "runtime/report/progress.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/report/text_table.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(progress_bar, looks_like_tqdm) {
  EXPECT_EQ(progress_bar({4200, 10000, 1.4, 3121.2}, 59),
            " 42%|████▏     | 4200/10000 [00:01<00:01, 3121.2 samples/s]");
  EXPECT_EQ(progress_bar({10000, 10000, 3723, 3121.2}, 62),
            "100%|██████████| 10000/10000 [1:02:03<00:00, 3121.2 samples/s]");
  EXPECT_EQ(progress_line({500, 1000, 1, 250, 0, "seeds"}), "500/1000 seeds (50%), 250.0 seeds/s");
  EXPECT_EQ(progress_bar({0, 0, 0, 0, 0, "seeds"}, 47), "0 seeds [00:00, ? seeds/s]");
  EXPECT_EQ(progress_line({500, 1000, 1, 250, 2}), "500/1000 samples (50%), 250.0 samples/s, 2 faults");
  EXPECT_EQ(progress_bar({0, 10000, 0, 0}, 47), "  0%|          | 0/10000 [00:00<?, ? samples/s]");
}

TEST(progress_bar, is_never_wider_than_the_terminal) {
  for (std::size_t width = 1; width < 130; ++width) {
    EXPECT_LE(text_columns(progress_bar({1234, 5678, 9, 10.5}, width)), width);
    EXPECT_LE(text_columns(progress_bar({1234, 0, 9, 10.5}, width)), width);
  }
}

TEST(progress_bar, never_claims_more_than_all) {
  EXPECT_THAT(progress_bar({200, 100, 1, 5}, 80), StartsWith("100%|"));
  EXPECT_THAT(progress_bar({9999, 10000, 1, 5}, 80), StartsWith(" 99%|"));
}

TEST(clock_text, has_hours_only_where_needed) {
  EXPECT_EQ(clock_text(59.9), "00:59");
  EXPECT_EQ(clock_text(60), "01:00");
  EXPECT_EQ(clock_text(7265), "2:01:05");
  EXPECT_EQ(clock_text(-1), "?");
  EXPECT_EQ(clock_text(1e300), "?");
}

TEST(progress_printer, gives_a_pipe_a_line_per_tenth_and_second_at_most) {
  progress_printer printer({.terminal = false, .width = 80});
  EXPECT_EQ(printer.update({0, 1000, 0, 0}), "0/1000 samples (0%), ? samples/s\n");
  EXPECT_THAT(printer.update({500, 1000, 0.9, 555}), IsEmpty());
  EXPECT_EQ(printer.update({510, 1000, 1.1, 463.6}), "510/1000 samples (51%), 463.6 samples/s\n");
  EXPECT_THAT(printer.update({590, 1000, 30, 20}), IsEmpty());
  EXPECT_EQ(printer.update({600, 1000, 31, 20}), "600/1000 samples (60%), 20.0 samples/s\n");
  EXPECT_EQ(printer.update({601, 1000, 92, 6.5}), "601/1000 samples (60%), 6.5 samples/s\n");
  EXPECT_THAT(printer.finish(), IsEmpty());
}

TEST(progress_printer, ends_with_the_last_state) {
  progress_printer printer({.terminal = false, .width = 80});
  EXPECT_THAT(printer.finish(), IsEmpty());
  EXPECT_NE(printer.update({0, 10, 0, 0}), "");
  EXPECT_THAT(printer.update({10, 10, 0.1, 100}), IsEmpty());
  EXPECT_EQ(printer.finish(), "10/10 samples (100%), 100.0 samples/s\n");
}

TEST(progress_printer, redraws_a_terminals_line_ten_times_a_second) {
  progress_printer printer({.terminal = true, .width = 80});
  EXPECT_THAT(printer.update({0, 10, 0, 0}), StartsWith("\r  0%|"));
  EXPECT_THAT(printer.update({1, 10, 0.05, 20}), IsEmpty());
  EXPECT_THAT(printer.update({2, 10, 0.11, 20}), StartsWith("\r 20%|"));
  EXPECT_THAT(printer.update({10, 10, 0.12, 20}), IsEmpty());
  const std::string end = printer.finish();
  EXPECT_THAT(end, StartsWith("\r100%|"));
  EXPECT_EQ(end.back(), '\n');
}

}  // namespace
}  // namespace troupe
