// Goal: the judge counts the deaths of a stage within a minute, also of one that makes progress. Method: short
// histories.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "testing/simulation/judge.hpp"

namespace troupe::simulation {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

/// A worker after the other is stage 0 and ends; between two of them a call ends, as its user gives it up. At the end a
/// call fails for the deaths, and names the last one.
std::string after_deaths(std::uint32_t count, std::int64_t apart_ns, bool names_the_last = false) {
  plan calls{.seed = 11, .stages = 1, .replicas = 1, .calls = {}};
  history seen{{.what = happening::driver_started, .other = 99}};
  for (std::uint32_t number = 0; number <= count; ++number) {
    const std::int64_t now_ns = number * apart_ns;
    const std::uint32_t worker = number + 1;
    calls.calls.push_back(9);
    seen.push_back(
        {.at_ns = now_ns, .what = happening::became_stage, .worker = worker, .stage = 0, .incarnation = number});
    seen.push_back({.at_ns = now_ns, .what = happening::submitted, .call = number});
    seen.push_back({.at_ns = now_ns, .what = happening::given_up, .call = number, .value = 606});
    seen.push_back({.at_ns = now_ns, .what = happening::answered, .call = number, .value = 606});
    if (number < count) seen.push_back({.at_ns = now_ns, .what = happening::end_told, .worker = worker});
  }
  if (names_the_last) {
    calls.calls.push_back(9);
    const std::uint32_t last = count + 1;
    seen.push_back({.at_ns = count * apart_ns, .what = happening::end_told, .worker = last});
    seen.push_back({.at_ns = count * apart_ns, .what = happening::submitted, .call = last});
    seen.push_back({.at_ns = count * apart_ns, .what = happening::answered, .call = last, .value = 616});
    seen.push_back({.at_ns = count * apart_ns, .what = happening::blamed, .worker = last, .call = last});
  }
  const auto found = judge(calls, seen);
  return found ? found->invariant : "";
}

TEST(budget_of_restarts, is_spent_by_many_deaths_within_a_minute) {
  EXPECT_EQ(after_deaths(21, second_ns), "");
  EXPECT_EQ(after_deaths(22, second_ns), "restart-budget");
}

TEST(budget_of_restarts, is_not_spent_by_as_many_over_a_longer_time) {
  EXPECT_EQ(after_deaths(60, 4 * second_ns), "");
}

TEST(budget_of_restarts, has_its_first_cause_also_after_many_deaths) {
  EXPECT_EQ(after_deaths(3, 4 * second_ns, true), "first-cause");
  EXPECT_EQ(after_deaths(60, 4 * second_ns, true), "first-cause");
  EXPECT_EQ(after_deaths(20, second_ns, true), "first-cause");
}

/// Workers of one replica end one after another, each in the forward of micro-batch 1 of the next of `of_calls`, before
/// any call is answered; then one more worker is started.
std::string after_rows(const std::vector<std::uint64_t>& of_calls) {
  plan calls{.seed = 11, .stages = 1, .replicas = 1, .calls = {9, 9, 9}};
  history seen{{.what = happening::driver_started, .other = 99}};
  for (std::uint64_t call = 0; call < calls.calls.size(); ++call) {
    seen.push_back({.what = happening::submitted, .call = call});
  }
  std::uint32_t number = 0;
  for (const std::uint64_t call : of_calls) {
    const std::uint32_t worker = number + 1;
    seen.push_back({.what = happening::became_stage, .worker = worker, .incarnation = number++});
    seen.push_back({.what = happening::worker_ended, .worker = worker, .call = call, .index = 1, .other = 1});
    seen.push_back({.what = happening::end_told, .worker = worker});
  }
  seen.push_back({.what = happening::became_stage, .worker = number + 1, .incarnation = number});
  const auto found = judge(calls, seen);
  return found ? found->invariant : "";
}

/// Call 2 is given up first, and waits for the answer of call 0.
TEST(budget_of_restarts, begins_anew_when_a_row_of_deaths_has_given_up_its_call) {
  EXPECT_NE(after_rows({2, 2, 2, 0, 0, 0}), "restart-budget");
  EXPECT_EQ(after_rows({2, 2, 1, 0, 0}), "restart-budget");
}

TEST(budget_of_restarts, begins_anew_once_for_a_call) {
  EXPECT_EQ(after_rows({2, 2, 2, 2, 2, 2, 2, 2}), "restart-budget");
}

}  // namespace
}  // namespace troupe::simulation
