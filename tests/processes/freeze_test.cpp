// Goal: a worker that is frozen longer than the time-out is ended before another one takes its place, and one that is
// frozen for a shorter time costs nothing but that time. Method: SIGSTOP and SIGCONT to processes of the built program.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"
#include "tests/processes/killer.hpp"
#include "tests/processes/lenet.hpp"
#include "tests/processes/process_list.hpp"
#include "tests/processes/undisturbed.hpp"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using clock = std::chrono::steady_clock;

constexpr std::size_t spare = 2;

const std::vector<std::string>& arguments() {
  static const std::vector<std::string> all = lenet(1, sanitized ? 2500 : 4000);
  return all;
}

class frozen : public ::testing::Test {
 protected:
  /// Two stages and a spare.
  void allow(const std::string& seconds) {
    run_.emplace(
        with(arguments(), {"--processes", "--stages", "2", "--worker-timeout", seconds, "--journal", killer::journal}));
    run_->on_tick = [this] {
      tick();
      return std::vector<int>{};
    };
  }
  /// Once, when a third is folded and the spare is there; workers are in the order they were started.
  void tick() {
    if (process_ > 0 || run_->size_of(killer::journal) * 3 < whole_.journal_bytes) return thaw_if_due();
    if (!run_->greeted_while_held_back(spare + 1)) return;
    const auto workers = run_->workers();
    process_ = driver_too_ ? run_->driver() : workers.at(victim_);
    since_ = clock::now();
    ::kill(process_, SIGSTOP);
  }
  void thaw_if_due() {
    if (process_ <= 0 || thawed_ || clock::now() < since_ + thaw_after_) return;
    thawed_ = true;
    was_there_ = state_of(process_).has_value();
    if (was_there_) ::kill(process_, SIGCONT);
  }

  const undisturbed& whole_ = undisturbed::of(arguments());
  std::optional<marked_run> run_;
  std::size_t victim_ = 0;
  bool driver_too_ = false;
  std::chrono::milliseconds thaw_after_{0};
  pid_t process_ = 0;
  clock::time_point since_;
  bool thawed_ = false;
  bool was_there_ = false;
};

/// A sanitized worker beside other tests may have no core for a second.
constexpr int silence_s = sanitized ? 2 : 1;

TEST_F(frozen, longer_than_the_time_out_is_ended_and_replaced) {
  for (const std::size_t victim : fewer_if_sanitized<std::size_t>({0, 1}, {1})) {
    allow(std::to_string(silence_s));
    victim_ = victim;
    process_ = 0;
    thawed_ = false;
    thaw_after_ = sanitized ? 6s : 3s;
    const auto outcome = run_->run();
    SCOPED_TRACE("victim " + std::to_string(victim) + ", stderr:\n" + outcome.err);
    whole_.expect_same(outcome);
    EXPECT_FALSE(thawed_ && was_there_) << "it was not ended";
    EXPECT_THAT(outcome.err, HasSubstr(", process " + std::to_string(process_) + ")"));
    EXPECT_THAT(outcome.err, HasSubstr("was silent for " + std::to_string(silence_s) + "000 ms, and was killed"));
    EXPECT_LT(run_->seconds(), sanitized ? 60 : 20);
    run_->expect_nothing_left({killer::journal});
  }
}

// The spare is to take the place of a stage that dies, but freezes while it starts.
TEST(frozen_at_the_start, a_worker_is_not_waited_for) {
  if (sanitized) GTEST_SKIP() << same_code;
  const undisturbed& whole = undisturbed::of(arguments());
  marked_run run(
      with(arguments(), {"--processes", "--stages", "2", "--worker-timeout", "2", "--journal", killer::journal}));
  pid_t starting = 0;
  run.on_tick = [&]() -> std::vector<int> {
    const auto workers = run.workers();
    if (starting != 0 || workers.size() <= spare) return {};
    starting = run.has_greeted(spare + 1) ? -1 : workers[spare];
    if (starting == -1) return {};
    ::kill(starting, SIGSTOP);
    ::kill(workers[0], SIGKILL);
    return {};
  };
  const auto outcome = run.run();
  SCOPED_TRACE("stderr:\n" + outcome.err);
  ASSERT_GT(starting, 0) << "it was not met in time";
  whole.expect_same(outcome);
  EXPECT_LT(run.seconds(), sanitized ? 50 : 20) << "limits::worker_hello_timeout is 60 s";
  run.expect_nothing_left({killer::journal});
}

TEST_F(frozen, for_a_moment_costs_nothing_but_that) {
  for (const std::size_t victim : fewer_if_sanitized<std::size_t>({1, 2}, {0})) {
    allow("8");
    victim_ = victim;
    process_ = 0;
    thawed_ = false;
    thaw_after_ = 300ms;
    const auto outcome = run_->run();
    SCOPED_TRACE("victim " + std::to_string(victim) + ", stderr:\n" + outcome.err);
    whole_.expect_same(outcome);
    EXPECT_TRUE(was_there_);
    EXPECT_THAT(outcome.err, Not(HasSubstr("killed")));
    EXPECT_EQ(nlohmann::json::parse(outcome.out)["delivery"]["replayed"], 0);
    run_->expect_nothing_left({killer::journal});
  }
}

/// The second death is noticed beside the start that waits for the fork server, and so is the first.
TEST(frozen_fork_server, hides_no_death) {
  if (sanitized) GTEST_SKIP() << same_code;
  const undisturbed& whole = undisturbed::of(arguments());
  marked_run run(
      with(arguments(), {"--processes", "--stages", "2", "--worker-timeout", "60", "--journal", killer::journal}));
  pid_t fork_server = 0;
  std::vector<pid_t> victims;
  run.on_tick = [&]() -> std::vector<int> {
    if (!victims.empty() || run.size_of(killer::journal) * 3 < whole.journal_bytes) return {};
    if (!run.greeted_while_held_back(spare + 1)) return {};
    const auto& all = run.children();
    const auto found = std::ranges::find_if(all, is_fork_server);
    if (found == all.end()) return {};
    fork_server = *found;
    ::kill(fork_server, SIGSTOP);
    // the spare, whose replacement waits for the fork server, and then a stage
    victims = {run.workers().at(spare), run.workers().at(0)};
    for (const pid_t each : victims) ::kill(each, SIGKILL);
    return {};
  };
  const auto outcome = run.run();
  SCOPED_TRACE("stderr:\n" + outcome.err);
  ASSERT_GT(fork_server, 0) << "it was not met in time";
  whole.expect_same(outcome);
  EXPECT_LT(run.seconds(), 12) << "half of limits::worker_start_timeout is 15 s";
  run.expect_nothing_left({killer::journal});
}

/// All of its processes, twice, each time for longer than the time-out: each finds that it did not run itself.
TEST(frozen_as_a_whole, a_run_goes_on_where_it_was) {
  if (sanitized) GTEST_SKIP() << same_code;
  const undisturbed& whole = undisturbed::of(arguments());
  constexpr int times = 2;
  marked_run run(with(arguments(), {"--processes", "--stages", "2", "--worker-timeout", sanitized ? "3" : "1",
                                    "--journal", killer::journal}));
  std::vector<pid_t> all;
  std::optional<clock::time_point> thaw_at;
  int frozen = 0;
  run.on_tick = [&]() -> std::vector<int> {
    if (thaw_at) {
      if (clock::now() < *thaw_at) return {};
      for (const pid_t each : all) ::kill(each, SIGCONT);
      thaw_at.reset();
      return {};
    }
    const double share = 0.25 * (frozen + 1);
    const bool is_due =
        static_cast<double>(run.size_of(killer::journal)) >= share * static_cast<double>(whole.journal_bytes);
    if (frozen == times || !is_due || !run.greeted_while_held_back(spare + 1)) return {};
    all = run.workers();
    all.push_back(run.driver());
    for (const pid_t each : all) ::kill(each, SIGSTOP);
    thaw_at = clock::now() + (sanitized ? 5s : 2s);
    ++frozen;
    return {};
  };
  const auto outcome = run.run();
  SCOPED_TRACE("stderr:\n" + outcome.err);
  EXPECT_EQ(frozen, times) << "the run was too short";
  whole.expect_same(outcome);
  EXPECT_THAT(outcome.err, Not(HasSubstr("was lost")));
  EXPECT_THAT(outcome.err, Not(HasSubstr("killed")));
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["delivery"]["replayed"], 0);
  run.expect_nothing_left({killer::journal});
}

/// A run does not wait for a spare, neither when it is frozen nor when the run ends.
TEST_F(frozen, spare_is_not_waited_for) {
  if (sanitized) GTEST_SKIP() << same_code;
  allow("1");
  victim_ = spare;
  thaw_after_ = 60s;
  const auto outcome = run_->run();
  SCOPED_TRACE("stderr:\n" + outcome.err);
  whole_.expect_same(outcome);
  EXPECT_LT(run_->seconds(), sanitized ? 60 : 20);
  run_->expect_nothing_left({killer::journal});
}

/// Its workers take it for dead meanwhile, and end.
TEST_F(frozen, driver_starts_all_of_them_again) {
  allow("1");
  driver_too_ = true;
  thaw_after_ = 3s;
  const auto outcome = run_->run();
  SCOPED_TRACE("stderr:\n" + outcome.err);
  whole_.expect_same(outcome);
  run_->expect_nothing_left({killer::journal});
}

}  // namespace
}  // namespace troupe::testing
