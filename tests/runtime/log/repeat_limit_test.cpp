// Goal: equal records are told once per interval, with their number, and others always. Method: records with times that
// the test chooses.
#include "runtime/log/repeat_limit.hpp"

#include <string>

#include <gmock/gmock.h>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct repeated_records : ::testing::Test {
  [[nodiscard]] std::vector<std::string> take(const std::string& text, std::chrono::milliseconds at,
                                              std::optional<std::uint32_t> rank = std::nullopt) {
    return texts(limit.take({.text = text, .rank = rank, .time = std::chrono::system_clock::time_point{at}}));
  }
  static std::vector<std::string> texts(const std::vector<log_record>& records) {
    std::vector<std::string> found;
    for (const log_record& each : records) found.push_back(to_string(each));
    return found;
  }
  repeat_limit limit;
};

constexpr std::chrono::milliseconds interval = limits::log_repeat_interval;

TEST_F(repeated_records, are_counted_and_told_once_their_interval_is_over) {
  EXPECT_THAT(take("a", 0ms), ElementsAre("a"));
  for (int i = 0; i < 41; ++i) EXPECT_THAT(take("a", 1ms), IsEmpty());
  EXPECT_THAT(take("b", 2ms), ElementsAre("b")) << "another line is told between them";
  EXPECT_THAT(take("a", interval), ElementsAre("... 41 more like this: a", "a"));
  EXPECT_THAT(take("a", interval + 1ms), IsEmpty()) << "counted anew";
  EXPECT_THAT(texts(limit.finish()), ElementsAre("... 1 more like this: a"));
  EXPECT_THAT(texts(limit.finish()), IsEmpty());
}

TEST_F(repeated_records, are_those_of_one_rank) {
  EXPECT_THAT(take("a", 0ms, 1), ElementsAre("[rank 1] a"));
  EXPECT_THAT(take("a", 0ms, 2), ElementsAre("[rank 2] a"));
  EXPECT_THAT(take("a", 0ms, 2), IsEmpty());
  EXPECT_THAT(texts(limit.finish()), ElementsAre("[rank 2] ... 1 more like this: a"));
}

TEST_F(repeated_records, are_looked_for_among_so_many_different_ones) {
  static_cast<void>(take("first", 0ms));
  static_cast<void>(take("first", 0ms));
  for (std::size_t i = 1; i < limits::log_repeats_kept; ++i) {
    EXPECT_THAT(take(std::to_string(i), 0ms), ElementsAre(std::to_string(i)));
  }
  EXPECT_THAT(take("one more", 0ms), ElementsAre("... 1 more like this: first", "one more"));
  EXPECT_THAT(take("first", 0ms), ElementsAre("first")) << "forgotten";
}

TEST_F(repeated_records, that_are_long_are_told_by_their_beginning) {
  const std::string long_line = std::string(79, 'x') + "\u00e4\u00e4\nnext";
  static_cast<void>(take(long_line, 0ms));
  EXPECT_THAT(take(long_line, 0ms), IsEmpty());
  EXPECT_THAT(texts(limit.finish()), ElementsAre("... 1 more like this: " + std::string(79, 'x') + " ..."))
      << "no character is cut in two";
}

}  // namespace
}  // namespace troupe::testing
