// Goal: what a user's iterator gives is counted, in samples and in bytes, also where batches differ in size or have no
// labels. Method: a short iterator, read to its end.
#include "runtime/data/iterator_source.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(iterator_source, counts_the_samples_and_bytes_of_each_batch) {
  std::vector<batch> batches = {{at::zeros({3, 5}), at::zeros({3}, at::kLong)}, {at::zeros({2, 5}), {}}};
  std::size_t given = 0;
  iterator_source source(
      [&]() -> std::optional<batch> {
        return given == batches.size() ? std::nullopt : std::optional(batches[given++]);
      },
      nullptr, 7);
  auto next = source.next();
  ASSERT_TRUE(next && *next) << "a batch with labels";
  EXPECT_EQ((*next)->samples.begin, 0u);
  EXPECT_EQ((*next)->samples.end, 3u);
  EXPECT_EQ((*next)->bytes, 3u * 5 * 4 + 3 * 8);
  next = source.next();
  ASSERT_TRUE(next && *next) << "one without";
  EXPECT_EQ((*next)->samples.begin, 3u);
  EXPECT_EQ((*next)->samples.end, 5u);
  EXPECT_EQ((*next)->bytes, 2u * 5 * 4);
  next = source.next();
  ASSERT_TRUE(next && !*next);
  EXPECT_TRUE(source.exhausted());
}

TEST(iterator_source, refuses_a_batch_without_samples) {
  iterator_source source(
      [] {
        return std::optional<batch>({at::zeros({0, 5}), at::zeros({0}, at::kLong)});
      },
      nullptr, 7);
  const auto next = source.next();
  ASSERT_FALSE(next.has_value());
  EXPECT_EQ(next.error().code, error_code::source_failed);
  EXPECT_EQ(next.error().cause, "a batch without samples");
}

}  // namespace
}  // namespace troupe
