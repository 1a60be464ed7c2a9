// Goal: the simulator finds what each protection of the product is there for. Method: one protection at a time is
// switched off, in the product's code where a simulation runs it (`mutant` says where); within so many seeds the judge
// must name an invariant that it broke.
// With the protections on the same seeds are judged well (simulation_world_test).
#include <algorithm>
#include <ostream>
#include <vector>

#include <gmock/gmock.h>

#include "testing/simulation/world.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::simulation {
namespace {

struct switched_off {
  mutant which = mutant::none;
  /// Within so many.
  std::uint64_t seeds = 0;
  std::vector<std::string> breaks = {};
};

std::ostream& operator<<(std::ostream& out, const switched_off& what) {
  return out << name_of(what.which);
}

class protection : public ::testing::TestWithParam<switched_off> {};

TEST_P(protection, is_missed_when_it_is_switched_off) {
  if (testing::sanitized && GetParam().seeds > 100) GTEST_SKIP() << testing::same_code;
  simulator world;
  for (std::uint64_t seed = 0; seed < GetParam().seeds; ++seed) {
    plan what = draw_plan(seed);
    what.broken = GetParam().which;
    const run_report report = world.run(what);
    if (report.wrong.empty()) continue;
    const std::string invariant = report.wrong.substr(0, report.wrong.find(':'));
    EXPECT_THAT(GetParam().breaks, ::testing::Contains(invariant)) << "seed " << seed << ": " << report.wrong;
    RecordProperty("found_by_seed", std::to_string(seed));
    return;
  }
  FAIL() << "no seed below " << GetParam().seeds << " misses it";
}

INSTANTIATE_TEST_SUITE_P(
    each, protection,
    ::testing::Values(switched_off{mutant::deduplication, 100, {"exactly-once"}},
                      switched_off{mutant::low_water_mark, 100, {"ends", "complete", "licensed-error"}},
                      switched_off{mutant::frame_checksums, 1000, {"same-bits", "right-parts"}},
                      switched_off{mutant::journal_checksums, 1000, {"journal-kept"}},
                      switched_off{mutant::credit_check, 50, {"credits"}},
                      switched_off{mutant::poison_counter, 300, {"poison-named"}},
                      switched_off{mutant::restart_budget, 100, {"restart-budget"}},
                      switched_off{mutant::blobs_before_orders, 5, {"blobs-first"}},
                      switched_off{mutant::silence_noticed, 1000, {"silent-replaced", "licensed-error"}},
                      switched_off{mutant::late_replaced, 100, {"late-replaced"}},
                      switched_off{mutant::journal_synced, 100, {"journal-kept"}},
                      switched_off{mutant::old_incarnations_fenced, 100, {"no-stale-incarnation"}},
                      switched_off{mutant::same_data_again, 100, {"right-parts", "same-bits"}},
                      switched_off{mutant::lost_work_noticed, 1000, {"ends"}},
                      switched_off{
                          mutant::messages_said_again, 100, {"ends", "licensed-error", "no-stale-incarnation"}}),
    [](const auto& given) {
      std::string name = name_of(given.param.which);
      std::ranges::replace(name, '-', '_');
      return name;
    });

TEST(shrinking, leaves_the_faults_without_which_a_plan_does_not_fail) {
  if (testing::sanitized) GTEST_SKIP() << testing::same_code;
  simulator world;
  std::size_t shrunk = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    plan what = draw_plan(seed);
    what.broken = mutant::deduplication;
    what.folded_before.clear();  // a folded micro-batch is doubled without a fault
    if (what.faults.size() < 3 || world.run(what).wrong.empty()) continue;
    const std::vector<std::size_t> least = shrink(world, what);
    ASSERT_FALSE(least.empty());
    EXPECT_NE(world.run(with_faults(what, least)).wrong, "") << "seed " << seed;
    for (std::size_t left_out = 0; left_out < least.size(); ++left_out) {
      std::vector<std::size_t> fewer = least;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(left_out));
      EXPECT_EQ(world.run(with_faults(what, fewer)).wrong, "") << "seed " << seed;
    }
    if (least.size() < what.faults.size()) ++shrunk;
  }
  EXPECT_GT(shrunk, 3u);
}

}  // namespace
}  // namespace troupe::simulation
