// Goal: of a plan that fails is left what it fails for. Method: verdicts that the test makes up.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <troupe/fault_plan.hpp>
#include <troupe/limits.hpp>

namespace troupe {
namespace {

using ::testing::ElementsAre;

fault_plan with_noise(const std::vector<std::string>& between) {
  fault_plan made;
  for (int i = 0; i < 3; ++i) made.add("throw:stage=a,at=mb" + std::to_string(i));
  for (const std::string& each : between) made.add(each);
  for (int i = 3; i < 7; ++i) made.add("throw:stage=b,at=mb" + std::to_string(i));
  return made;
}

bool has_kind(const fault_plan& plan, fault_kind kind, std::uint64_t not_before) {
  return std::ranges::any_of(plan.faults(),
                             [&](const fault& each) { return each.kind == kind && each.when.number >= not_before; });
}

TEST(shrink, leaves_the_one_fault_that_is_to_blame_at_the_earliest_moment) {
  const auto least = shrink(with_noise({"kill:stage=c,at=mb100"}),
                            [](const fault_plan& plan) { return has_kind(plan, fault_kind::kill, 17); });
  EXPECT_THAT(least.texts(), ElementsAre("kill:stage=c,at=mb17"));
}

TEST(shrink, keeps_two_that_fail_together_only) {
  const auto both = [](const fault_plan& plan) {
    return has_kind(plan, fault_kind::kill, 0) && has_kind(plan, fault_kind::stop, 0);
  };
  const auto least = shrink(with_noise({"kill:stage=c,at=mb9", "stop:stage=d,replica=1,at=mb8,for=2s"}), both);
  EXPECT_THAT(least.texts(), ElementsAre("kill:stage=c,at=mb0", "stop:stage=d,at=mb0"));
}

TEST(shrink, leaves_a_plan_as_it_is_that_fails_for_all_of_it) {
  const fault_plan whole = with_noise({});
  EXPECT_EQ(shrink(whole, [&](const fault_plan& plan) { return plan == whole; }), whole);
}

TEST(shrink, asks_a_bounded_number_of_times) {
  fault_plan many;
  for (std::size_t i = 0; i < limits::faults_max; ++i) many.add("kill:stage=c,at=mb" + std::to_string(1000000 + i));
  std::size_t asked = 0;
  static_cast<void>(shrink(many, [&](const fault_plan& plan) {
    ++asked;
    return plan.faults().size() > 40;
  }));
  EXPECT_LE(asked, limits::shrink_runs_max);
}

}  // namespace
}  // namespace troupe
