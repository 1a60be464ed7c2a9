// Goal: a run goes on with the same bits whatever is killed or frozen, as long as no stage dies again and again without
// progress. Method: seeded schedules of signals to the built program's processes; TROUPE_KILL_SEEDS=A..B runs others
// than those that there is time for.
#include <cstdlib>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/lenet.hpp"
#include "tests/processes/random_schedule.hpp"
#include "tests/processes/undisturbed.hpp"
#include "tests/support/case_choice.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using family = schedule_options::family;

/// Seeds up to here are of the first family, and so on; then it begins again.
constexpr std::uint64_t stages_end = 22;
constexpr std::uint64_t start_end = stages_end + 14;
constexpr std::uint64_t mix_end = start_end + 16;

family family_of(std::uint64_t seed) {
  const std::uint64_t place = seed % mix_end;
  return place < stages_end ? family::stages : place < start_end ? family::start : family::mix;
}

/// Five or six of each family, which have their turns.
std::vector<std::uint64_t> seeds() {
  if (const char* wanted = std::getenv("TROUPE_KILL_SEEDS")) {
    const std::string text = wanted;
    std::vector<std::uint64_t> found;
    for (auto seed = std::stoull(text); seed <= std::stoull(text.substr(text.find("..") + 2)); ++seed) {
      found.push_back(seed);
    }
    return found;
  }
  if (sanitized) return {0, 22};
  std::vector<std::uint64_t> some;
  for (const std::vector<std::uint64_t>& kind :
       {std::vector<std::uint64_t>{0, 1, 2, 3, 4}, {22, 23, 24, 25, 26}, {36, 37, 38, 39, 40, 41}}) {
    for (const std::uint64_t seed : some_of(kind, 2)) some.push_back(seed);
  }
  return some;
}

class killed_by_schedule : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(killed_by_schedule, gives_the_bits_of_an_undisturbed_run) {
  const std::uint64_t seed = GetParam();
  const family kind = family_of(seed);
  constexpr std::chrono::seconds silence{sanitized ? 6 : 2};
  const auto arguments = lenet(1, sanitized ? 1500 : kind == family::mix ? 4000 : 6000);
  const undisturbed& whole = undisturbed::of(arguments);
  const std::uint64_t stages = 1 + seed % 3;
  marked_run run(with(arguments, {"--processes", "--stages", std::to_string(stages), "--replicas",
                                  std::to_string(seed % 4 == 3 ? 2 : 1), "--worker-timeout",
                                  std::to_string(silence.count()), "--journal", random_schedule::journal}));
  random_schedule schedule(run, {.kind = kind, .seed = seed, .whole = whole.journal_bytes, .silence = silence});
  run.on_tick = [&] {
    schedule.tick();
    return std::vector<int>{};
  };
  const auto outcome = run.run();
  SCOPED_TRACE("seed " + std::to_string(seed) + ", schedule:\n" + schedule.history() + "stderr:\n" + outcome.err);
  whole.expect_same(outcome);
  EXPECT_NE(schedule.history(), "") << "the run was too short";
  run.expect_nothing_left({random_schedule::journal});
}

INSTANTIATE_TEST_SUITE_P(seeds, killed_by_schedule, ::testing::ValuesIn(seeds()),
                         [](const auto& one) { return std::to_string(one.param); });

}  // namespace
}  // namespace troupe::testing
