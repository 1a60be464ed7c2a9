// Goal: the restart budget of a stage is spent by deaths without progress and by many deaths in a short time, and names
// the micro-batch on which all of them fell. Method: deaths and times are given.
#include "actors/restart_budget.hpp"

#include <gmock/gmock.h>

namespace troupe {
namespace {

stage_lost death(std::optional<micro_batch_id> on, std::string cause = "killed by SIGSEGV") {
  return {{1, 0}, 0, {error_code::stage_lost, "stage 1", std::move(cause), {}}, on};
}

TEST(restart_budget, is_spent_by_deaths_without_progress_and_keeps_the_first_cause) {
  restart_budget budget;
  const auto now = std::chrono::seconds{100};
  EXPECT_FALSE(budget.note(death({{0, 3}}, "out of memory"), now, {0, 2}));
  EXPECT_FALSE(budget.note(death({{0, 3}}), now, {0, 2}));
  EXPECT_FALSE(budget.note(death({{0, 3}}), now, {0, 3})) << "the mark has moved";
  EXPECT_FALSE(budget.note(death({{0, 4}}, "second"), now, {0, 3}));
  const auto spent = budget.note(death({{0, 4}}), now, {0, 3});
  ASSERT_TRUE(spent);
  EXPECT_EQ(spent->code, error_code::restarts_spent);
  EXPECT_THAT(spent->cause, ::testing::HasSubstr("killed by SIGSEGV"));
  EXPECT_FALSE(budget.suspect({1, 0})) << "not all of them on one micro-batch";
}

TEST(restart_budget, names_the_micro_batch_that_all_deaths_fell_on) {
  restart_budget budget;
  std::optional<error> spent;
  for (std::uint32_t i = 0; i < limits::deaths_without_progress_max; ++i) {
    EXPECT_FALSE(spent);
    spent = budget.note(death({{0, 7}}), std::chrono::seconds{i}, {0, 7});
  }
  ASSERT_TRUE(spent);
  EXPECT_EQ(budget.suspect({1, 0}), (micro_batch_id{0, 7}));
  EXPECT_THAT(spent->where, ::testing::HasSubstr("micro-batch 7"));
  EXPECT_THAT(spent->cause, ::testing::HasSubstr("it worked on this micro-batch every time; the first time: "))
      << "last words may follow the cause";
}

TEST(restart_budget, counts_anew_once_the_suspect_is_given_up) {
  restart_budget budget;
  for (int i = 0; i < 3; ++i) static_cast<void>(budget.note(death({{0, 7}}), {}, {0, 2}));
  ASSERT_TRUE(budget.suspect({1, 0}));
  budget.suspect_is_given_up({1, 0});
  EXPECT_FALSE(budget.suspect({1, 0}));
  EXPECT_FALSE(budget.note(death({}, "another cause"), {}, {0, 2})) << "the mark has not moved";
  EXPECT_FALSE(budget.note(death({{0, 9}}), {}, {0, 2}));
  const auto spent = budget.note(death({{0, 9}}), {}, {0, 2});
  ASSERT_TRUE(spent);
  EXPECT_THAT(spent->cause, ::testing::HasSubstr("another cause"));
}

TEST(restart_budget, is_spent_by_too_many_deaths_in_a_short_time_and_recovers_with_time) {
  restart_budget budget;
  const auto spent_at = [&](std::chrono::nanoseconds step) {
    for (std::uint32_t i = 1; i <= 3 * limits::deaths_in_window_max; ++i) {
      if (budget.note(death({}), step * i, {0, i})) return i;
    }
    return 0u;
  };
  EXPECT_EQ(spent_at(limits::death_window), 0u);
  budget = restart_budget{};
  EXPECT_EQ(spent_at(std::chrono::milliseconds{1}), limits::deaths_in_window_max);
}

TEST(restart_budget, suspects_no_micro_batch_of_many_deaths_in_a_short_time) {
  restart_budget budget;
  std::optional<error> spent;
  for (std::uint32_t i = 1; !spent; ++i) spent = budget.note(death({{0, i}}), {}, {0, i});
  EXPECT_FALSE(budget.suspect({1, 0})) << "the last death is one of many";
}

TEST(restart_budget, tells_of_the_first_death_of_many_in_a_short_time) {
  restart_budget budget;
  std::optional<error> spent;
  static_cast<void>(budget.note(death({}, "long before"), {}, {0, 0}));
  for (std::uint32_t i = 1; !spent; ++i) {
    spent = budget.note(death({}, "death " + std::to_string(i)), 2 * limits::death_window, {0, i});
  }
  EXPECT_THAT(spent->cause, ::testing::EndsWith("20 times within 60 s; the first time: death 1"));
}

}  // namespace
}  // namespace troupe
