#include "runtime/step/learning_rate.hpp"

#include <cmath>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;

TEST(learning_rate, is_that_of_torch) {
  std::ifstream recorded(testing::source_dir() / "tests/runtime/step/recorded/rates.txt");
  int schedules = 0;
  for (std::string line; std::getline(recorded, line); ++schedules) {
    std::istringstream fields(line);
    std::string text;
    double base = 0;
    fields >> text >> base;
    const auto rate = learning_rate::make(base, text);
    ASSERT_TRUE(rate) << to_string(rate.error());
    std::uint64_t step = 0;
    for (double expected = 0; fields >> expected; ++step) {
      // torch multiplies from step to step where there is a closed form as well
      EXPECT_NEAR(rate->at(step), expected, 1e-14 + 1e-12 * expected) << text << ", step " << step;
    }
    EXPECT_GT(step, 3U);
  }
  EXPECT_EQ(schedules, 13);
}

TEST(learning_rate, is_finite_at_every_step) {
  for (const char* text : {"one_cycle:total=1", "one_cycle:total=1:rise=1", "one_cycle:total=10:rise=0.1",
                           "one_cycle:total=10:rise=0", "cosine:total=1", "linear:total=1:warmup=1"}) {
    const learning_rate rate = learning_rate::make(0.1, text).value();
    for (const std::uint64_t step : {0ULL, 1ULL, 2ULL, 9ULL, 10ULL, 1000000000000ULL}) {
      EXPECT_TRUE(rate.at(step) >= -1e-17 && rate.at(step) <= 0.1) << text << ", " << step;
    }
  }
}

std::string message(const std::string& text, double base = 0.1) {
  const auto made = learning_rate::make(base, text);
  return made ? "none" : to_string(made.error());
}

TEST(learning_rate, says_what_is_wrong_with_its_text) {
  EXPECT_THAT(message("cosin:total=5"), HasSubstr("E0102: learning rate \"cosin:total=5\": unknown schedule"));
  EXPECT_THAT(message("cosin:total=5"), HasSubstr("cosine"));
  EXPECT_THAT(message("cosine:totl=5"), HasSubstr("option totl: unknown option of cosine"));
  EXPECT_THAT(message("cosine"), HasSubstr("it needs total\n  fix: write cosine:total=1000"));
  EXPECT_THAT(message("cosine:total=0"), HasSubstr("a whole number from 1"));
  EXPECT_THAT(message("cosine:total=1.5"), HasSubstr("a whole number from 1"));
  EXPECT_THAT(message("cosine:total"), HasSubstr("a whole number from 1"));
  EXPECT_THAT(message("cosine:total=5:total=6"), HasSubstr("it is given twice"));
  EXPECT_THAT(message("cosine:total=5:min=nan"), HasSubstr("a number from 0"));
  EXPECT_THAT(message("linear:total=5:start=0"), HasSubstr("from 0 to 1, but not 0"));
  EXPECT_THAT(message("one_cycle:total=5:shape=sin"), HasSubstr("one of cos, linear"));
  EXPECT_THAT(message("constant:from=0.1"), HasSubstr("it needs warmup"));
  EXPECT_THAT(message("constant:"), HasSubstr("unknown option"));
  EXPECT_THAT(message("constant", -1), HasSubstr("E0103"));
  EXPECT_THAT(message("constant", std::nan("")), HasSubstr("E0103"));
}

}  // namespace
}  // namespace troupe
