// Goal: due functions are called in order, also one that another added; a function may end its clock. Method: times in
// the past, and a promise.
#include "runtime/inject/fault_clock.hpp"

#include <future>
#include <memory>
#include <vector>

#include <gmock/gmock.h>

namespace troupe {
namespace {

using ::testing::ElementsAre;

TEST(fault_clock, calls_in_the_order_of_times) {
  std::vector<int> called;
  std::promise<void> done;
  fault_clock clock;
  const auto now = std::chrono::steady_clock::now();
  clock.at(now, [&] { called.push_back(2); });
  clock.at(now - std::chrono::seconds{1}, [&] {
    called.push_back(1);
    clock.at(now + std::chrono::milliseconds{1}, [&] {
      called.push_back(3);
      done.set_value();
    });
  });
  clock.at(now + std::chrono::hours{1}, [&] { called.push_back(4); });
  ASSERT_TRUE(clock.start());
  done.get_future().wait();
  clock.stop();
  EXPECT_THAT(called, ElementsAre(1, 2, 3));
}

TEST(fault_clock, may_end_in_what_it_calls) {
  auto clock = std::make_unique<fault_clock>();
  std::promise<void> ended;
  const auto now = std::chrono::steady_clock::now();
  ASSERT_TRUE(clock->start());
  clock->at(now + std::chrono::hours{1}, [] { FAIL() << "it was not due"; });
  clock->at(now, [&] {
    clock.reset();
    ended.set_value();
  });
  ended.get_future().wait();
}

}  // namespace
}  // namespace troupe
