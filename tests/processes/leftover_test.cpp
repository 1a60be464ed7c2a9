// Goal: however a run with workers ends, no process, listener or file is left. Method: the built program, ended in
// every way there is; marked_run looks for what carries its mark.
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/processes/lenet.hpp"
#include "tests/processes/marked_run.hpp"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using clock = std::chrono::steady_clock;
using json = nlohmann::json;

constexpr const char* journal = "run.journal";

/// Far longer than it takes to end it.
std::vector<std::string> long_run(const std::vector<std::string>& more = {}) {
  return with(with(lenet(1, 10000), {"--processes", "--stages", "2", "--journal", journal}), more);
}

/// All stages work, and the spare's program runs.
bool is_in_the_middle(marked_run& run) {
  constexpr std::uintmax_t some_micro_batches = 20000;
  return run.size_of(journal) >= some_micro_batches && run.workers().size() > 2;
}

/// Sends `signals` in a row, `apart`.
std::function<std::vector<int>()> in_the_middle(marked_run& run, std::vector<int> signals,
                                                std::chrono::milliseconds apart) {
  return [&run, signals, apart, sent = std::size_t{0}, due = clock::time_point::max()]() mutable {
    if (due == clock::time_point::max() && is_in_the_middle(run)) due = clock::now();
    if (sent == signals.size() || clock::now() < due) return std::vector<int>{};
    due = clock::now() + apart;
    return std::vector<int>{signals[sent++]};
  };
}

/// What the other tests of this folder rely on.
TEST(private_places, show_what_a_program_leaves_there) {
  const private_places places;
  const auto command = places.command("/bin/sh", {"-c", "touch \"$TMPDIR/one\" /dev/shm/test-two"});
  const auto outcome = run_troupe({.arguments = {command.begin() + 1, command.end()},
                                   .program = command.front(),
                                   .environment = {places.variable()}});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(places.left_behind(), UnorderedElementsAre(EndsWith("/one"), EndsWith("/test-two")));
  EXPECT_THAT(private_places{}.left_behind(), IsEmpty()) << "another run has other places";
  std::error_code ignored;
  std::filesystem::remove("/dev/shm/test-two", ignored);  // of this machine, where no mount namespace is allowed
}

TEST(nothing_is_left, after_success) {
  for (const bool tcp : {false, true}) {
    marked_run run(
        with(lenet(16, 1000), {"--processes", "--stages", "2", "--replicas", "2", "--transport", tcp ? "tcp" : "shm"}));
    std::set<std::uint16_t> ports;
    run.on_tick = [&] {
      ports.merge(run.ports());
      return std::vector<int>{};
    };
    EXPECT_EQ(run.run().status, 0);
    EXPECT_EQ(ports.empty(), !tcp) << "only edges listen";
    run.expect_nothing_left({}, 0ms);
  }
}

TEST(nothing_is_left, after_a_bad_model) {
  marked_run run({});
  run.directory().write("bad.pt", "no model");
  auto arguments = with(lenet(16, 1000), {"--processes"});
  arguments.at(2) = "bad.pt";
  const auto outcome = run.run(arguments);
  EXPECT_EQ(outcome.status, 3) << outcome.err;
  run.expect_nothing_left({"bad.pt"}, 0ms);
}

TEST(nothing_is_left, after_one_interrupt) {
  for (const int signal : {SIGINT, SIGTERM}) {
    marked_run run(long_run());
    run.on_tick = in_the_middle(run, {signal}, 0ms);
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, 130) << outcome.err;
    ASSERT_TRUE(json::accept(outcome.out)) << outcome.out;
    const json result = json::parse(outcome.out);
    EXPECT_EQ(result["partial"], true);
    EXPECT_EQ(result["delivery"]["lost"], 0);
    EXPECT_GT(result["delivery"]["folded"], 0);
    run.expect_nothing_left({journal}, 0ms);
  }
}

TEST(nothing_is_left, after_two_interrupts) {
  if (sanitized) GTEST_SKIP() << same_code;
  marked_run run(long_run());
  run.on_tick = in_the_middle(run, {SIGINT, SIGINT}, 20ms);
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  EXPECT_LT(run.seconds(), sanitized ? 60 : 15);
  run.expect_nothing_left({journal}, 1s);
}

/// While workers start there is nothing to finish, and no call to end: the first of them may be there before the run
/// is, and then the program ends without a result and maybe without a journal. On a fast machine the last steps find
/// them at work.
TEST(nothing_is_left, after_an_interrupt_while_it_starts) {
  for (int step = 0; step < (sanitized ? 1 : 4); ++step) {
    marked_run run(long_run());
    std::optional<clock::time_point> first_seen;
    bool sent = false;
    run.on_tick = [&]() -> std::vector<int> {
      if (!first_seen && !run.children().empty()) first_seen = clock::now();
      if (sent || !first_seen || clock::now() < *first_seen + step * 100ms) return {};
      sent = true;
      return {SIGINT};
    };
    const auto outcome = run.run();
    SCOPED_TRACE("step " + std::to_string(step) + ", stderr:\n" + outcome.err);
    EXPECT_EQ(outcome.status, 130);
    if (!outcome.out.empty()) {
      const json result = json::parse(outcome.out);
      EXPECT_EQ(result["partial"], true);
      EXPECT_EQ(result["delivery"]["lost"], 0);
      if (step == 0) {
        EXPECT_EQ(result["delivery"]["folded"], 0);
      }
    }
    EXPECT_LT(run.seconds(), sanitized ? 60 : 15);
    const bool was_there = !outcome.out.empty() || run.directory().entries().contains(journal);
    run.expect_nothing_left(was_there ? std::set<std::string>{journal} : std::set<std::string>{}, 1s);
  }
}

TEST(nothing_is_left, after_an_interrupt_in_a_recovery) {
  for (int step = 0; step < (sanitized ? 1 : 3); ++step) {
    marked_run run(long_run());
    std::optional<clock::time_point> killed;
    bool sent = false;
    run.on_tick = [&]() -> std::vector<int> {
      const auto workers = run.workers();
      if (!killed && is_in_the_middle(run)) {
        ::kill(workers.at(static_cast<std::size_t>(step) % 2), SIGKILL);
        killed = clock::now();
      }
      if (sent || !killed || clock::now() < *killed + step * 50ms) return {};
      sent = true;
      return {SIGINT};
    };
    const auto outcome = run.run();
    SCOPED_TRACE("step " + std::to_string(step));
    EXPECT_EQ(outcome.status, 130) << outcome.err;
    EXPECT_LT(run.seconds(), sanitized ? 60 : 15) << outcome.err;
    run.expect_nothing_left({journal}, 1s);
  }
}

/// In the preparation, where there is no journal yet, and later, where there is one.
TEST(nothing_is_left, after_a_deadline) {
  for (const char* seconds : {"0.05", "0.7"}) {
    marked_run run(long_run({"--deadline", seconds}));
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, 124) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("E0605"));
    EXPECT_LT(run.seconds(), sanitized ? 60 : 15) << outcome.err;
    run.expect_nothing_left(run.size_of(journal) > 0 ? std::set<std::string>{journal} : std::set<std::string>{}, 1s);
  }
}

/// A frozen one takes no SIGTERM.
TEST(nothing_is_left, after_an_interrupt_beside_a_frozen_worker) {
  if (sanitized) GTEST_SKIP() << same_code;
  marked_run run(long_run({"--worker-timeout", "1"}));
  run.on_tick = [&, frozen = false]() mutable -> std::vector<int> {
    if (!frozen && is_in_the_middle(run) && run.greeted_while_held_back(3)) {
      const auto workers = run.workers();
      ::kill(workers.front(), SIGSTOP);
      ::kill(workers.back(), SIGSTOP);
      frozen = true;
      return {SIGINT};
    }
    return {};
  };
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 130) << outcome.err;
  EXPECT_LT(run.seconds(), sanitized ? 60 : 20) << outcome.err;
  run.expect_nothing_left({journal}, 1s);
}

}  // namespace
}  // namespace troupe::testing
