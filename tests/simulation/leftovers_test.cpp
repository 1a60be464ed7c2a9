// Goal: what a driver leaves behind is found, of every kind. Method: one of them is kept, and the judge must say so; it
// objects to no run of which nothing is kept.
#include <array>
#include <string>

#include <gmock/gmock.h>

#include "testing/simulation/world.hpp"

namespace troupe::simulation {
namespace {

constexpr std::array<const char*, leftovers> leftover_names = {"engines",       "workers", "pages",   "ends of links",
                                                               "ends of edges", "timers",  "journals"};

plan kept_of(std::optional<leftover> kind) {
  return {.seed = 4,
          .stages = 2,
          .calls = {12},
          .has_journal = true,
          .faults = {{.kind = fault_kind::kill_in_forward, .stage = 1, .index = 4}},
          .kept = kind};
}

TEST(leftovers, of_every_kind_are_found) {
  simulator world;
  for (std::size_t kind = 0; kind < leftovers; ++kind) {
    SCOPED_TRACE(leftover_names[kind]);
    const run_report report = world.run(kept_of(static_cast<leftover>(kind)));
    EXPECT_THAT(report.wrong, ::testing::StartsWith("nothing-left: "));
    EXPECT_THAT(report.wrong, ::testing::HasSubstr(leftover_names[kind]));
    EXPECT_EQ(world.run(kept_of(std::nullopt)).wrong, "") << "the next run has none of it";
  }
}

}  // namespace
}  // namespace troupe::simulation
