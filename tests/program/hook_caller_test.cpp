// Goal: hooks get their reports in order, and one that is slow or stuck loses some and says how many, but holds up
// neither the one who reports nor the end. Method: hooks that wait for the test.
#include "program/run/hook_caller.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "messages/limits.hpp"
#include "program/run/abandoned_threads.hpp"
#include <troupe/evaluator.hpp>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + 20s;
  while (!condition() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  return condition();
}

log_record said(std::string text) {
  return {.text = std::move(text)};
}

TEST(hook_caller, delivers_all_lines_and_the_newest_progress_before_it_ends) {
  std::vector<std::string> lines;
  std::uint64_t done = 0;
  auto caller = *hook_caller::start({.on_progress = [&](const progress_update& now) { done = now.samples_done; },
                                     .on_log = [&](const log_record& record) { lines.push_back(record.text); }});
  caller->put(said("one"));
  caller->put({.samples_done = 1});
  caller->put(said("two"));
  caller->put({.samples_done = 2});
  ASSERT_TRUE(caller->finish(20s));
  EXPECT_THAT(lines, ElementsAre("one", "two"));
  EXPECT_EQ(done, 2);
  caller->put(said("too late"));
  EXPECT_EQ(lines.size(), 2);
}

TEST(hook_caller, of_a_slow_hook_loses_the_oldest_lines_and_says_how_many) {
  std::promise<void> entered;
  std::promise<void> let_go;
  std::vector<std::string> lines;
  auto caller = *hook_caller::start({.on_progress = {}, .on_log = [&, first = true](const log_record& record) mutable {
                                       lines.push_back(record.text);
                                       if (!std::exchange(first, false)) return;
                                       entered.set_value();
                                       let_go.get_future().wait();
                                     }});
  caller->put(said("first"));
  ASSERT_EQ(entered.get_future().wait_for(20s), std::future_status::ready);
  caller->lost(5);
  for (std::size_t i = 0; i < limits::log_lines_max + 3; ++i) caller->put(said(std::to_string(i)));
  let_go.set_value();
  ASSERT_TRUE(caller->finish(20s));
  ASSERT_EQ(lines.size(), limits::log_lines_max + 2);
  EXPECT_THAT(lines[1], HasSubstr("8 lines of the log were lost"));
  EXPECT_EQ(lines[2], "3");
  EXPECT_EQ(lines.back(), std::to_string(limits::log_lines_max + 2));
}

TEST(hook_caller, of_a_stuck_hook_ends_without_it) {
  std::promise<void> let_go;
  const auto waited_for = std::make_shared<std::shared_future<void>>(let_go.get_future());
  auto caller =
      *hook_caller::start({.on_progress = {}, .on_log = [waited_for](const log_record&) { waited_for->wait(); }});
  caller->put(said("never taken"));
  EXPECT_FALSE(has_abandoned_threads());
  EXPECT_FALSE(caller->finish(10ms));
  EXPECT_FALSE(caller->finish(10ms)) << "asked again";
  EXPECT_TRUE(has_abandoned_threads());
  caller.reset();
  let_go.set_value();
  EXPECT_TRUE(eventually([] { return !has_abandoned_threads(); }));
}

TEST(hook_caller, outlives_what_a_hook_throws) {
  std::size_t called = 0;
  auto caller = *hook_caller::start({.on_progress = {}, .on_log = [&](const log_record&) {
                                       ++called;
                                       throw std::runtime_error("on purpose");
                                     }});
  caller->put(said("one"));
  caller->put(said("two"));
  EXPECT_TRUE(caller->finish(20s));
  EXPECT_EQ(called, 2);
}

}  // namespace
}  // namespace troupe::testing
