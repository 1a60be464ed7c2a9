// Goal: blocks come in order with any number of threads, in bounded memory, with the error of the first that failed,
// and no thread is left. Method: makers that count, wait for each other and fail on request; under ThreadSanitizer,
// too.
#include "runtime/ledger/block_prefetch.hpp"

#include <atomic>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troupe {
namespace {

using ::testing::HasSubstr;

expected<prefetched_block> block_of(std::uint64_t index, std::uint64_t bytes = 1) {
  return prefetched_block{std::make_shared<const std::uint64_t>(index), bytes};
}

std::uint64_t number_in(const std::shared_ptr<const void>& block) {
  return *static_cast<const std::uint64_t*>(block.get());
}

TEST(block_prefetch, gives_all_blocks_in_order_from_any_number_of_threads) {
  for (const std::uint32_t threads : {1U, 2U, 3U, 8U}) {
    for (const std::uint64_t count : {1U, 2U, 100U}) {
      const auto blocks = get(block_prefetch::start([](std::uint64_t index) { return block_of(index); },
                                                    {.count = count, .threads = threads, .bytes_max = 100}));
      for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(number_in(get(blocks->take())), i);
    }
  }
}

TEST(block_prefetch, makes_two_blocks_at_a_time_with_two_threads) {
  std::latch both(2);
  const auto make = [&](std::uint64_t index) {
    if (index < 2) both.arrive_and_wait();  // never passed by one thread
    return block_of(index);
  };
  const auto blocks = get(block_prefetch::start(make, {.count = 4, .threads = 2, .bytes_max = 100}));
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(number_in(get(blocks->take())), i);
}

/// The most bytes that were made and not yet taken.
std::uint64_t most_bytes_ahead(std::uint64_t bytes_of_block, const prefetch_options& options) {
  std::atomic<std::uint64_t> begun{0};
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> most{0};
  const auto make = [&](std::uint64_t index) {
    const std::uint64_t ahead = (++begun - taken) * bytes_of_block;
    for (std::uint64_t before = most; before < ahead && !most.compare_exchange_weak(before, ahead);) {
    }
    return block_of(index, bytes_of_block);
  };
  const auto blocks = get(block_prefetch::start(make, options));
  for (std::uint64_t i = 0; i < options.count; ++i) {
    EXPECT_EQ(number_in(get(blocks->take())), i);
    ++taken;
  }
  return most;
}

TEST(block_prefetch, memory_is_bounded_by_bytes_and_by_blocks) {
  // one more: a block is counted as taken a moment after it was
  EXPECT_LE(most_bytes_ahead(10, {.count = 500, .threads = 4, .bytes_max = 30, .bytes_guess = 10}), 40U);
  EXPECT_LE(most_bytes_ahead(10, {.count = 500, .threads = 2, .bytes_max = 1000000, .bytes_guess = 10}), 50U);
  EXPECT_LE(most_bytes_ahead(10, {.count = 500, .threads = 4, .bytes_max = 1, .bytes_guess = 10}), 20U)
      << "one larger than the limit is made alone";
}

TEST(block_prefetch, gives_the_error_of_the_first_block_that_failed) {
  for (const std::uint32_t threads : {1U, 2U, 4U}) {
    std::latch later_failed(1);
    const auto make = [&](std::uint64_t index) -> expected<prefetched_block> {
      if (index == 3 && threads > 1) later_failed.wait();
      if (index == 4) later_failed.count_down();
      if (index < 3) return block_of(index);
      return fail(error_code::data_bad_format, "block " + std::to_string(index), "broken", "none");
    };
    const auto blocks = get(block_prefetch::start(make, {.count = 100, .threads = threads, .bytes_max = 100}));
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(number_in(get(blocks->take())), i);
    EXPECT_THAT(to_string(blocks->take().error()), HasSubstr("block 3"));
  }
}

TEST(block_prefetch, contains_exceptions) {
  const auto make = [](std::uint64_t) -> expected<prefetched_block> { throw std::runtime_error("no luck"); };
  const auto blocks = get(block_prefetch::start(make, {.count = 9, .threads = 2, .bytes_max = 100}));
  const auto taken = blocks->take();
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, error_code::source_failed);
  EXPECT_THAT(to_string(taken.error()), HasSubstr("no luck"));
}

TEST(block_prefetch, ends_in_the_middle_and_leaves_no_thread_and_no_block) {
  std::atomic<int> under_way{0};
  std::weak_ptr<const void> any;
  for (int taken = 0; taken < 20; ++taken) {
    auto blocks = get(block_prefetch::start(
        [&](std::uint64_t index) {
          ++under_way;
          auto made = block_of(index);
          --under_way;
          return made;
        },
        {.count = 1000, .threads = 3, .bytes_max = 100}));
    for (int i = 0; i < taken; ++i) any = get(blocks->take());
    blocks = nullptr;
    EXPECT_EQ(under_way, 0);
    EXPECT_TRUE(any.expired());
  }
}

}  // namespace
}  // namespace troupe
