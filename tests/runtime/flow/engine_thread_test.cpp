// Goal: an engine thread steps, spins, parks, wakes and ends as promised. Method: engines that follow a script, and
// counters; every wait of a test has a deadline that only a fault reaches.
#include "runtime/flow/engine_thread.hpp"

#include <functional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <pthread.h>

#include "runtime/flow/command_queue.hpp"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr auto patience = 20s;
steady_clock::time_point soon() {
  return steady_clock::now() + patience;
}

/// Handles numbers: each is one unit of work, a negative one ends it. Idle otherwise.
class counting_engine final : public engine {
 public:
  explicit counting_engine(std::string name = "counting") : name_(std::move(name)) {}

  [[nodiscard]] step_result step() override {
    ++steps;
    const auto command = commands.pop();
    if (!command) return step_result::idle;
    if (*command < 0) return step_result::finished;
    if (on_work) on_work();
    handled.fetch_add(1, std::memory_order_release);
    done.ring();
    return step_result::progressed;
  }
  [[nodiscard]] doorbell& bell() noexcept override { return bell_; }
  void on_thread_start() override { started_before_first_step = steps == 0; }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] std::chrono::nanoseconds park_limit() const noexcept override { return limit; }

  /// Waits until `count` numbers were handled; false if that took beyond all patience.
  bool await_handled(std::uint64_t count) {
    while (handled.load(std::memory_order_acquire) < count) {
      const std::uint32_t epoch = done.prepare_to_park();
      if (handled.load(std::memory_order_acquire) >= count) break;
      const auto start = steady_clock::now();
      done.wait(epoch, patience);
      if (steady_clock::now() - start >= patience) return false;
    }
    done.stay_awake();
    return true;
  }

  std::atomic<std::uint64_t> handled{0};
  std::atomic<std::uint64_t> steps{0};
  std::atomic<bool> started_before_first_step{false};
  std::function<void()> on_work;
  std::chrono::nanoseconds limit = limits::park_max;
  doorbell done;

 private:
  std::string name_;
  doorbell bell_;

 public:
  command_queue<int> commands{bell_};
};

std::unique_ptr<engine_thread> start(engine& driven, engine_thread_options options = {}) {
  return std::move(engine_thread::start(driven, std::move(options)).value());
}

engine_thread_options spinning(std::chrono::nanoseconds budget) {
  return {.spin_budget = budget};
}

TEST(engine_thread, steps_until_finished) {
  counting_engine engine;
  const auto thread = start(engine);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(engine.commands.push(i));
  ASSERT_TRUE(engine.commands.push(-1));
  ASSERT_TRUE(thread->join(soon()));
  EXPECT_EQ(engine.handled, 100u);
  EXPECT_TRUE(engine.started_before_first_step);
  EXPECT_TRUE(thread->join(soon())) << "joining again is harmless";
}

TEST(engine_thread, join_gives_up_at_its_deadline_and_can_be_repeated) {
  counting_engine engine;
  const auto thread = start(engine);
  EXPECT_FALSE(thread->join(steady_clock::now()));
  EXPECT_FALSE(thread->join(steady_clock::now() + 2ms));
  ASSERT_TRUE(engine.commands.push(-1));
  EXPECT_TRUE(thread->join(soon()));
}

TEST(engine_thread, its_thread_has_the_engines_name_cut_to_what_the_system_takes) {
  counting_engine engine("stage 12 of a very deep model");
  std::string name(16, '\0');
  engine.on_work = [&] { pthread_getname_np(pthread_self(), name.data(), name.size()); };
  const auto thread = start(engine);
  ASSERT_TRUE(engine.commands.push(0));
  ASSERT_TRUE(engine.commands.push(-1));
  ASSERT_TRUE(thread->join(soon()));
  EXPECT_STREQ(name.c_str(), "stage 12 of a v");
}

// In step with the engine, which therefore parks again and again: each ring must be heard.
TEST(engine_thread, without_a_spin_budget_it_parks_and_every_ring_wakes_it) {
  counting_engine engine;
  const auto thread = start(engine);
  for (std::uint64_t i = 1; i <= 5'000; ++i) {
    ASSERT_TRUE(engine.commands.push(0));
    ASSERT_TRUE(engine.await_handled(i));
  }
  ASSERT_TRUE(engine.commands.push(-1));
  ASSERT_TRUE(thread->join(soon()));
  const engine_thread_counters counters = thread->counters();
  EXPECT_GT(counters.parks, 0u);
  EXPECT_LE(counters.wake_ups, counters.parks);
  EXPECT_GT(counters.wake_ups, 0u);
  EXPECT_EQ(counters.spins_rewarded, 0u);
}

TEST(engine_thread, with_a_spin_budget_work_that_comes_in_time_needs_no_park) {
  counting_engine engine;
  const auto thread = start(engine, spinning(patience));
  for (std::uint64_t i = 1; i <= 1'000; ++i) {
    ASSERT_TRUE(engine.commands.push(0));
    ASSERT_TRUE(engine.await_handled(i));
  }
  ASSERT_TRUE(engine.commands.push(-1));
  ASSERT_TRUE(thread->join(soon()));
  EXPECT_EQ(thread->counters().parks, 0u);
  EXPECT_GT(thread->counters().spins_rewarded, 0u);
}

TEST(engine_thread, a_spent_spin_budget_ends_in_a_park) {
  counting_engine engine;
  const auto thread = start(engine, spinning(1us));
  while (thread->counters().parks == 0) std::this_thread::yield();
  ASSERT_TRUE(engine.commands.push(-1));
  ASSERT_TRUE(thread->join(soon()));
}

TEST(engine_thread, looks_around_at_its_park_limit_though_nobody_rings) {
  counting_engine engine;
  engine.limit = 1ms;
  const auto thread = start(engine);
  while (thread->counters().parks < 5) std::this_thread::yield();
  EXPECT_EQ(thread->counters().wake_ups, 0u);
  EXPECT_GE(engine.steps, 5u);
  ASSERT_TRUE(engine.commands.push(-1));
  ASSERT_TRUE(thread->join(soon()));
}

TEST(engine_thread, faults_are_broken_invariants) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        counting_engine engine;
        const auto thread = start(engine);
      },
      "joined before it is destroyed");
  EXPECT_DEATH(
      {
        counting_engine engine;
        engine.on_work = [] { throw std::runtime_error("the sky fell"); };
        const auto thread = start(engine);
        (void)engine.commands.push(0);
        (void)thread->join(soon());
      },
      "no exception leaves engine::step.*the sky fell");
}

}  // namespace
}  // namespace troupe::testing
