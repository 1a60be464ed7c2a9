// Goal: the judge counts in the loader's window what can still be folded, and nothing of cancelled calls. Method: short
// histories.
#include <initializer_list>
#include <string>

#include <gmock/gmock.h>

#include "testing/simulation/judge.hpp"

namespace troupe::simulation {
namespace {

plan three_calls() {
  return {.seed = 11, .stages = 2, .replicas = 1, .calls = {9, 9, 9}};
}

event sent(std::uint64_t call, std::uint64_t index) {
  return {.what = happening::edge_sent, .call = call, .index = index, .other = 99};
}

/// Two micro-batches of each of two calls fill the loader's window, and then `next` happens.
std::string after_a_full_window(std::initializer_list<event> next) {
  history seen{{.what = happening::driver_started, .other = 4}, sent(0, 0), sent(0, 1), sent(1, 0), sent(1, 1)};
  seen.insert(seen.end(), next);
  const auto found = judge(three_calls(), seen);
  return found ? found->invariant : "";
}

constexpr event gives_up{.what = happening::given_up, .call = 1};
constexpr event throws{.what = happening::forward_threw, .worker = 1, .stage = 1, .call = 1};

TEST(window_of_the_loader, holds_all_calls_that_have_no_reason_to_be_cancelled) {
  EXPECT_EQ(after_a_full_window({}), "");
  EXPECT_EQ(after_a_full_window({sent(2, 0)}), "window");
}

TEST(window_of_the_loader, does_not_hold_a_cancelled_call_before_it_is_answered) {
  for (const event& cause : {gives_up, throws}) {
    EXPECT_EQ(after_a_full_window({cause, sent(2, 0), sent(2, 1)}), "");
    EXPECT_EQ(after_a_full_window({cause, sent(2, 0), sent(2, 1), sent(2, 2)}), "window");
  }
}

TEST(window_of_the_loader, holds_a_call_of_which_it_sends_more) {
  EXPECT_EQ(after_a_full_window({gives_up, sent(1, 1)}), "");
  EXPECT_EQ(after_a_full_window({gives_up, sent(1, 2)}), "window");
}

TEST(window_of_the_loader, holds_a_call_that_is_given_up_too_late_and_ends_well) {
  const event ends_well{.what = happening::answered, .call = 1, .other = 9};
  EXPECT_EQ(after_a_full_window({gives_up, sent(2, 0), ends_well}), "window");
}

}  // namespace
}  // namespace troupe::simulation
