// Goal: each transition of a checkpoint's state. Method: looks at chosen times.
#include "runtime/watch/checkpoint_state.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using namespace std::chrono_literals;
using phase = checkpoint_state::phase;

constexpr watch_patience patience{.settle = 1s, .wait = 10s};
const std::chrono::steady_clock::time_point start{};
const auto wall = std::filesystem::file_time_type::clock::now();

checkpoint_stamp stamp(std::uint64_t hash, std::chrono::seconds age = 0s) {
  return {.hash = hash, .newest = wall - age};
}
error cause() {
  return {error_code::model_damaged, "here", "it is damaged", ""};
}

TEST(checkpoint_state, is_ready_when_it_has_not_changed) {
  checkpoint_state state(stamp(1), start);
  EXPECT_FALSE(state.look(stamp(1), false, start + 999ms, wall, patience));
  EXPECT_EQ(state.now(), phase::settling);
  EXPECT_TRUE(state.look(stamp(2), false, start + 1s, wall, patience));
  EXPECT_EQ(state.now(), phase::settling);
  state.look(stamp(2), false, start + 1999ms, wall, patience);
  EXPECT_EQ(state.now(), phase::settling);
  state.look(stamp(2), false, start + 2s, wall, patience);
  EXPECT_EQ(state.now(), phase::ready);
  EXPECT_TRUE(state.look(stamp(3), false, start + 3s, wall, patience));
  EXPECT_EQ(state.now(), phase::settling);
}

TEST(checkpoint_state, waits_for_its_name_in_latest_but_not_for_ever) {
  checkpoint_state state(stamp(1), start);
  state.look(stamp(1), true, start + 9s, wall, patience);
  EXPECT_EQ(state.now(), phase::settling);
  state.look(stamp(1), true, start + 10s, wall, patience);
  EXPECT_EQ(state.now(), phase::ready);
}

TEST(checkpoint_state, is_doubted_until_it_changes) {
  checkpoint_state state(stamp(1), start);
  state.look(stamp(1), false, start + 1s, wall, patience);
  state.fail(cause(), start + 2s, wall, patience);
  EXPECT_EQ(state.now(), phase::doubtful);
  EXPECT_TRUE(state.look(stamp(2), false, start + 3s, wall, patience));
  EXPECT_EQ(state.now(), phase::settling);
  EXPECT_FALSE(state.cause());
}

TEST(checkpoint_state, fails_when_it_has_not_changed_for_long) {
  checkpoint_state state(stamp(1), start);
  state.look(stamp(1), false, start + 1s, wall, patience);
  state.fail(cause(), start + 2s, wall, patience);
  state.look(stamp(1), false, start + 9999ms, wall, patience);
  EXPECT_EQ(state.now(), phase::doubtful);
  state.look(stamp(1), false, start + 10s, wall, patience);
  EXPECT_EQ(state.now(), phase::failed);
  EXPECT_EQ(state.cause()->cause, "it is damaged");
}

TEST(checkpoint_state, fails_at_once_when_its_files_are_old) {
  checkpoint_state state(stamp(1, 11s), start);
  state.look(stamp(1, 11s), false, start + 1s, wall, patience);
  state.fail(cause(), start + 2s, wall, patience);
  EXPECT_EQ(state.now(), phase::failed);
}

}  // namespace
}  // namespace troupe
