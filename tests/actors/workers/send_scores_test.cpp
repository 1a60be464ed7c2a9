// Goal: scores are sent in order and in messages of a bounded size, and the page says meanwhile that the engine
// works. Method: what sends looks at the sign itself.
#include "actors/workers/send_scores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"

namespace troupe {
namespace {

using ::testing::ElementsAre;

score score_of(std::uint64_t index, std::size_t words) {
  score made;
  made.id = {2, index};
  made.words.assign(words, index);
  return made;
}

TEST(send_scores, splits_where_a_message_would_be_too_large) {
  constexpr std::size_t most = limits::score_words_max;
  current_work work;
  std::vector<std::vector<std::uint64_t>> sent;
  send_scores({score_of(0, 1), score_of(1, most - 1), score_of(2, 1), score_of(3, most), score_of(4, 0)}, work,
              [&](const score_batch& part) {
                sent.emplace_back();
                for (const score& each : part.scores) sent.back().push_back(each.id.index);
              });
  EXPECT_THAT(sent, ElementsAre(ElementsAre(0, 1), ElementsAre(2), ElementsAre(3, 4)));
  send_scores({}, work, [](const score_batch&) { FAIL() << "there is nothing to send"; });
}

TEST(send_scores, is_work_until_they_are_sent) {
  engine_page page;
  std::vector<std::optional<micro_batch_id>> seen;
  send_scores({score_of(7, 1), score_of(8, limits::score_words_max)}, page.work, [&](const score_batch&) {
    EXPECT_TRUE(page.work.since());
    seen.push_back(page.telemetry().working_on);
  });
  EXPECT_THAT(seen, ElementsAre(micro_batch_id{2, 7}, micro_batch_id{2, 8}));
  EXPECT_FALSE(page.telemetry().working_on);
}

TEST(send_scores, goes_on_to_show_what_is_in_flight) {
  engine_page page;
  page.work.begin({2, 9}, std::chrono::seconds{1});
  send_scores({score_of(7, 1)}, page.work, [&](const score_batch&) {
    EXPECT_EQ(page.work.working_on(), (micro_batch_id{2, 9}));
  });
  EXPECT_EQ(page.work.working_on(), (micro_batch_id{2, 9}));
  EXPECT_EQ(page.work.since(), std::chrono::seconds{1});
}

TEST(send_scores, is_no_forward) {
  engine_page page;
  for (std::uint64_t index = 0; index < 2 * limits::stall_forwards_min; ++index) {
    send_scores({score_of(index, 1)}, page.work, [](const score_batch&) {});
  }
  EXPECT_FALSE(page.work.median());
}

}  // namespace
}  // namespace troupe
