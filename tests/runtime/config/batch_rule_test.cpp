// Goal: the numbers of a batch are those of DeepSpeed's rule. Method: what DeepSpeed itself made of some 200 draws over
// all eight sets of given numbers (recorded_batches/record.py), and each case by hand.
#include "runtime/config/batch_rule.hpp"

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;
using number = std::optional<std::int64_t>;

constexpr number none = std::nullopt;

struct by_hand {
  batch_numbers given;
  std::int64_t replicas;
  /// All 0 where it is refused.
  batch_sizes sizes;
};

class batch_rule : public ::testing::TestWithParam<by_hand> {};

TEST_P(batch_rule, by_hand) {
  const auto sizes = resolve_batch(GetParam().given, GetParam().replicas);
  ASSERT_EQ(sizes.has_value(), GetParam().sizes.train_batch_size != 0);
  if (!sizes) return;
  EXPECT_EQ(sizes->train_batch_size, GetParam().sizes.train_batch_size);
  EXPECT_EQ(sizes->micro_batch, GetParam().sizes.micro_batch);
  EXPECT_EQ(sizes->accumulation_steps, GetParam().sizes.accumulation_steps);
}

INSTANTIATE_TEST_SUITE_P(eight_cases, batch_rule,
                         ::testing::Values(by_hand{{32, 4, 2}, 4, {32, 4, 2}},     // all are given
                                           by_hand{{32, 4, none}, 4, {32, 4, 2}},  // steps = 32 / 4 / 4
                                           by_hand{{32, none, 2}, 4, {32, 4, 2}},  // micro-batch = 32 / 4 / 2
                                           by_hand{{none, 4, 2}, 4, {32, 4, 2}},   // batch = 4 x 2 x 4
                                           by_hand{{32, none, none}, 4, {32, 8, 1}},
                                           by_hand{{none, 4, none}, 4, {16, 4, 1}}, by_hand{{none, none, 2}, 4, {}},
                                           by_hand{{none, none, none}, 4, {}}));

INSTANTIATE_TEST_SUITE_P(inexact, batch_rule,
                         ::testing::Values(by_hand{{33, 4, 2}, 4, {}}, by_hand{{33, 4, none}, 4, {}},
                                           by_hand{{33, none, 2}, 4, {}}, by_hand{{33, none, none}, 4, {}},
                                           by_hand{{3, none, none}, 4, {}}));

std::vector<number> numbers_of(const std::string& row) {
  std::vector<number> numbers;
  std::istringstream cells(row + ",");
  for (std::string cell; std::getline(cells, cell, ',');) numbers.push_back(cell.empty() ? none : std::stoll(cell));
  return numbers;
}

TEST(recorded_batches, are_those_of_deepspeed) {
  std::ifstream file(testing::source_dir() / "tests/runtime/config/recorded_batches/batches.csv");
  std::string row;
  std::getline(file, row);
  std::set<std::vector<bool>> cases;
  std::size_t refused = 0;
  std::size_t rows = 0;
  for (; std::getline(file, row); ++rows) {
    SCOPED_TRACE(row);
    const auto numbers = numbers_of(row);
    ASSERT_EQ(numbers.size(), 7U);
    cases.insert({numbers[0].has_value(), numbers[1].has_value(), numbers[2].has_value()});
    const auto sizes = resolve_batch({numbers[0], numbers[1], numbers[2]}, *numbers[3]);
    ASSERT_EQ(sizes.has_value(), numbers[4].has_value());
    if (!sizes) {
      ++refused;
      continue;
    }
    EXPECT_EQ(sizes->train_batch_size, *numbers[4]);
    EXPECT_EQ(sizes->micro_batch, *numbers[5]);
    EXPECT_EQ(sizes->accumulation_steps, *numbers[6]);
  }
  EXPECT_EQ(cases.size(), 8U);
  EXPECT_GT(rows, 150U);
  EXPECT_GT(refused, 50U);
}

/// Whether the fix of a refused batch, followed to the letter, makes it good.
void expect_fixed(batch_numbers given, std::int64_t replicas) {
  const auto refused = resolve_batch(given, replicas);
  if (refused) return;
  SCOPED_TRACE(refused.error().cause + ": " + refused.error().fix);
  const std::string begin = "write \"train_batch_size\": ";
  ASSERT_THAT(refused.error().fix, ::testing::StartsWith(begin));
  given.train_batch_size = std::stoll(refused.error().fix.substr(begin.size()));
  EXPECT_LE(*given.train_batch_size, train_batch_max);
  EXPECT_TRUE(resolve_batch(given, replicas));
}

TEST(batch_rule_fix, works_for_small_and_largest_numbers) {
  constexpr std::int64_t micro_max = limits::micro_batch_max;
  for (const number train : {number(1), number(33), number(train_batch_max), number(train_batch_max - 1)}) {
    for (const number micro : {none, number(1), number(7), number(micro_max)}) {
      for (const number steps : {none, number(1), number(5), number(accumulation_steps_max)}) {
        for (const std::int64_t replicas : {1, 3, 256}) expect_fixed({train, micro, steps}, replicas);
      }
    }
  }
}

TEST(batch_rule_problem, names_the_four_numbers) {
  const auto mismatch = resolve_batch({33, 4, 2}, 4);
  EXPECT_EQ(mismatch.error().cause,
            "33 is not train_micro_batch_size_per_gpu 4 x gradient_accumulation_steps 2 x 4 replicas");
  EXPECT_EQ(mismatch.error().fix, "write \"train_batch_size\": 32");
  EXPECT_THAT(resolve_batch({2, none, 4}, 1).error().cause,
              HasSubstr("train_micro_batch_size_per_gpu 0 (computed) x gradient_accumulation_steps 4 x 1 replica"));
  EXPECT_THAT(resolve_batch({train_batch_max, none, none}, 1).error().cause,
              HasSubstr("a micro-batch has 16777216 samples at the most"));
  EXPECT_THAT(resolve_batch({none, none, 2}, 1).error().cause, HasSubstr("neither \"train_batch_size\" nor"));
}

}  // namespace
}  // namespace troupe
