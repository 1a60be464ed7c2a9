// Goal: a fault hits the messages that its text names, and no others. Method: triggers are asked at times that the test
// makes up.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "injection_support.hpp"

namespace troupe::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr message_trigger::time_point start{std::chrono::hours{1}};

/// Which of `count` messages are hit that come a second apart; counted from 1.
std::vector<int> hits_of(message_trigger& one, int count) {
  std::vector<int> found;
  for (int i = 1; i <= count; ++i) {
    if (one.hits(start + std::chrono::seconds{i})) found.push_back(i);
  }
  return found;
}
std::vector<int> hits_of(const char* text, int count) {
  return hits_of(*trigger(text, {}, start), count);
}

TEST(message_trigger, hits_the_message_that_it_names_once) {
  EXPECT_THAT(hits_of("drop:edge=a-b,at=msg3", 5), ElementsAre(3));
  EXPECT_THAT(hits_of("drop:edge=a-b,at=msg9", 5), IsEmpty());
}

TEST(message_trigger, hits_all_without_a_moment) {
  EXPECT_THAT(hits_of("delay:edge=a-b,ms=5", 3), ElementsAre(1, 2, 3));
}

TEST(message_trigger, counts_times_from_the_start_of_the_run) {
  EXPECT_THAT(hits_of("drop:control=driver-a,at=2s", 6), ElementsAre(2));
  EXPECT_THAT(hits_of("drop:control=driver-a,at=2.5s", 6), ElementsAre(3));
  EXPECT_THAT(hits_of("drop:control=driver-a,at=2s,for=2s", 6), ElementsAre(2, 3));
  EXPECT_THAT(hits_of("drop:control=driver-a,at=msg2,for=3s", 6), ElementsAre(2, 3, 4));
  const auto of_late_link = trigger("drop:edge=a-b,at=2s", {}, start - std::chrono::minutes{1});
  EXPECT_THAT(hits_of(*of_late_link, 3), ElementsAre(1));
  const auto over = trigger("drop:edge=a-b,at=2s,for=2s", {}, start - std::chrono::minutes{1});
  EXPECT_THAT(hits_of(*over, 3), IsEmpty());
}

TEST(message_trigger, knows_no_time_before_the_run_has_begun) {
  const auto run = std::make_shared<run_start>();
  for (const char* text : {"drop:edge=a-b,at=0s", "drop:edge=a-b,at=0s,for=9s"}) {
    message_trigger early(*parse_fault(text), run);
    EXPECT_THAT(hits_of(early, 3), IsEmpty()) << text;
  }
  message_trigger silence(*parse_fault("partition:edge=a-b,at=1s"), run);
  EXPECT_FALSE(silence.is_active(start));
  run->begin(start);
  run->begin(start + std::chrono::hours{1});
  EXPECT_FALSE(silence.is_active(start));
  EXPECT_TRUE(silence.is_active(start + std::chrono::seconds{1})) << "without a message";
}

TEST(message_trigger, draws_the_same_for_the_same_seed) {
  const auto first = hits_of("drop:control=driver-a,p=0.1,seed=4", 2000);
  EXPECT_EQ(first, hits_of("drop:control=driver-a,p=0.1,seed=4", 2000));
  EXPECT_NE(first, hits_of("drop:control=driver-a,p=0.1,seed=5", 2000));
  EXPECT_GT(first.size(), 130u);
  EXPECT_LT(first.size(), 270u);
}

TEST(message_trigger, tells_each_hit_and_a_partition_once) {
  int told = 0;
  const auto drops = trigger("drop:edge=a-b", [&](bool) { return ++told > 0; });
  hits_of(*drops, 3);
  EXPECT_EQ(told, 3);
  told = 0;
  const auto partition = trigger("partition:edge=a-b,at=msg2,for=2s", [&](bool) { return ++told > 0; });
  EXPECT_FALSE(partition->is_active(start));
  EXPECT_THAT(hits_of(*partition, 2), IsEmpty()) << "it hits no single message";
  EXPECT_TRUE(partition->is_active(start));
  EXPECT_TRUE(partition->is_active(start + std::chrono::milliseconds{1999}));
  EXPECT_FALSE(partition->is_active(start + std::chrono::seconds{2}));
  EXPECT_EQ(told, 1);
}

TEST(message_trigger, leaves_a_fault_to_the_process_that_was_first) {
  const auto late = trigger("drop:edge=a-b,at=msg2", [](bool) { return false; });
  EXPECT_THAT(hits_of(*late, 5), IsEmpty());
  std::vector<bool> asked;
  const auto lasting = trigger("drop:edge=a-b,at=msg2,for=2s", [&](bool first) {
    asked.push_back(first);
    return true;
  });
  EXPECT_THAT(hits_of(*lasting, 5), ElementsAre(2, 3));
  EXPECT_THAT(asked, ElementsAre(true, false));
}

TEST(message_trigger, is_late_by_its_delay_and_at_most_the_jitter) {
  const auto late = trigger("delay:edge=a-b,ms=50,jitter=20");
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(late->hits());
    EXPECT_GE(late->lateness(), std::chrono::milliseconds{50});
    EXPECT_LE(late->lateness(), std::chrono::milliseconds{70});
  }
}

}  // namespace
}  // namespace troupe::testing
