// Goal: the same weight and norm for every cut and number of replicas, torch's factor of clipping, and messages that
// name the place. Method: values that torch has computed; the same numbers cut in several ways.
#include "runtime/step/add_votes.hpp"

#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/step/step_support.hpp"
#include "tests/support/paths.hpp"

namespace troupe::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(clip_factor, is_that_of_torch) {
  std::ifstream file(source_dir() / ("tests/runtime/step/recorded/clip.txt"));
  std::size_t lines = 0;
  std::size_t clipped = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    std::istringstream values(line);
    double greatest = 0;
    double norm = 0;
    double factor = 0;
    values >> greatest >> norm >> factor;
    std::vector<double> squares;
    for (double each = 0; values >> each;) squares.push_back(each);
    const auto sums = add_votes(0, std::vector{vote_of({0, 0}, 0, squares, 1)});
    ASSERT_TRUE(sums);
    EXPECT_NEAR(sums->norm, norm, 1e-14 * norm) << line;
    EXPECT_NEAR(clip_factor(sums->norm, greatest), factor, 1e-14 * factor) << line;
    clipped += factor < 1 ? 1 : 0;
  }
  EXPECT_EQ(lines, 24U);
  EXPECT_GT(clipped, 5U);
  EXPECT_EQ(clip_factor(1e9, std::nullopt), 1);
}

TEST(add_votes, divides_the_norm_by_the_weight) {
  const auto sums = add_votes(0, std::vector{vote_of({0, 0}, 0, {9, 16}), vote_of({1, 0}, 0, {144}, 26)});
  ASSERT_TRUE(sums);
  EXPECT_EQ(sums->weight, 26);
  EXPECT_EQ(sums->norm, 0.5);
  const auto none = add_votes(0, std::vector{vote_of({0, 0}, 0, {0})});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->weight, 0);
  EXPECT_EQ(none->norm, 0);
}

TEST(add_votes, gives_the_same_bits_for_every_cut) {
  std::vector<double> squares;
  for (int i = 1; i <= 12; ++i) squares.push_back(std::exp(static_cast<double>(i * 7 % 12)) / 3);
  const auto whole = add_votes(0, std::vector{vote_of({0, 0}, 0, squares, 7)});
  ASSERT_TRUE(whole);
  for (std::size_t first = 0; first <= squares.size(); ++first) {
    for (std::size_t second = first; second <= squares.size(); ++second) {
      const auto at = [&](std::size_t i) { return squares.begin() + static_cast<std::ptrdiff_t>(i); };
      const auto cut = add_votes(
          0, std::vector{vote_of({0, 0}, 0, {squares.begin(), at(first)}), vote_of({1, 0}, 0, {at(first), at(second)}),
                         vote_of({2, 0}, 0, {at(second), squares.end()}, 7)});
      ASSERT_TRUE(cut);
      EXPECT_EQ(cut->norm, whole->norm) << first << " " << second;
    }
  }
}

/// 0.1 + 0.2 + 0.3 + 0.4 depends on the order; the tree's is (0.1 + 0.2) + (0.3 + 0.4).
TEST(add_votes, adds_the_weights_of_replicas_as_their_gradients) {
  std::vector<step_vote> four;
  for (const replica_index replica : {0U, 1U, 2U, 3U})
    four.push_back(vote_of({0, replica}, 0, {1}, 0.1 * (replica + 1)));
  const auto sums = add_votes(0, four);
  ASSERT_TRUE(sums);
  EXPECT_EQ(sums->weight, (four[0].weight + four[1].weight) + (four[2].weight + four[3].weight));
  EXPECT_NE(sums->weight, four[0].weight + (four[1].weight + (four[2].weight + four[3].weight)));
  four.pop_back();
  EXPECT_EQ(add_votes(0, four)->weight, (four[0].weight + four[1].weight) + four[2].weight);
}

std::string refusal_of(const std::vector<step_vote>& votes, error_code code) {
  const auto sums = add_votes(12, votes);
  EXPECT_FALSE(sums);
  if (sums) return {};
  EXPECT_EQ(sums.error().code, code);
  EXPECT_FALSE(sums.error().fix.empty());
  return to_string(sums.error());
}

TEST(add_votes, names_the_replica_that_differs_from_most) {
  std::vector<step_vote> votes = {vote_of({0, 0}, 0, {1}, 4)};
  for (const replica_index replica : {0U, 1U, 2U, 3U}) votes.push_back(vote_of({3, replica}, 0, {1, 2}));
  EXPECT_TRUE(add_votes(12, votes));
  votes[2].state_hash ^= 1U;
  EXPECT_THAT(refusal_of(votes, error_code::replicas_differ),
              HasSubstr("error E0621: step 12, stage 3: the gradient or the weights of replica 1 are not those of "
                        "replicas 0, 2 and 3"));
  votes[1].squared_norms[1] = std::nextafter(2.0, 3.0);
  EXPECT_THAT(refusal_of(votes, error_code::replicas_differ), HasSubstr("of replicas 0, 1, 2 and 3 differ"))
      << "two of four are no majority";
  votes.pop_back();
  votes.pop_back();
  EXPECT_THAT(refusal_of(votes, error_code::replicas_differ),
              HasSubstr("the gradients or the weights of replicas 0 and 1 differ"));
}

TEST(add_votes, takes_a_gradient_that_is_finite_at_one_replica_only_for_damage) {
  std::vector<step_vote> votes = {vote_of({0, 0}, 0, {nan}, 1), vote_of({0, 1}, 0, {2}, 1), vote_of({0, 2}, 0, {2}, 1)};
  EXPECT_THAT(refusal_of(votes, error_code::replicas_differ),
              HasSubstr("of replica 0 are not those of replicas 1 and 2"));
  votes[1].squared_norms[0] = -nan;
  votes[2].squared_norms[0] = std::numeric_limits<double>::infinity();
  votes[2].state_hash = 0;
  EXPECT_THAT(refusal_of(votes, error_code::gradient_not_finite), HasSubstr("step 12, stage 0: the norm"));
}

TEST(add_votes, names_layer_and_micro_batch_of_the_last_stage_whose_gradient_is_not_finite) {
  std::vector<step_vote> votes = {vote_of({0, 0}, 7, {1, nan}), vote_of({1, 0}, 7, {3}), vote_of({1, 1}, 7, {3}),
                                  vote_of({2, 0}, 7, {1}, 5)};
  votes[0].not_finite = error{error_code::gradient_not_finite, "layer 0 (Linear), micro-batch 0", "infinity", {}};
  votes[1].not_finite = error{error_code::gradient_not_finite, "", "NaN", "own fix"};
  votes[2].not_finite = error{error_code::gradient_not_finite, "layer 4 (Linear), micro-batch 9", "NaN", {}};
  EXPECT_THAT(refusal_of(votes, error_code::gradient_not_finite),
              HasSubstr("error E0619: step 12, stage 1: NaN\n  fix: own fix"));
  votes[1].not_finite.reset();
  votes[1].squared_norms[0] = nan;
  EXPECT_THAT(refusal_of(votes, error_code::gradient_not_finite),
              HasSubstr("error E0619: step 12, stage 1, layer 4 (Linear), micro-batch 9: NaN"));
  votes[2].not_finite.reset();
  votes[2].squared_norms[0] = nan;
  EXPECT_THAT(refusal_of(votes, error_code::gradient_not_finite),
              HasSubstr("error E0619: step 12, stage 0, layer 0 (Linear), micro-batch 0: infinity"))
      << "stage 1 may have it of a tied weight alone";
  votes[0].not_finite.reset();
  EXPECT_THAT(refusal_of(votes, error_code::gradient_not_finite),
              HasSubstr("step 12, stage 1: the norm of the gradient of its parameter 0 is no number"));
}

TEST(add_votes, refuses_sums_that_are_no_numbers) {
  constexpr double largest = std::numeric_limits<double>::max();
  EXPECT_THAT(refusal_of({vote_of({0, 0}, 0, {1}, nan)}, error_code::gradient_not_finite), HasSubstr("the weights"));
  EXPECT_THAT(refusal_of({vote_of({0, 0}, 0, {largest, largest}, 1)}, error_code::gradient_not_finite),
              HasSubstr("step 12: the norm of its gradient is no number"));
}

}  // namespace
}  // namespace troupe::testing
