// Goal: warm buffers are used again, from whatever thread they come back, also after the pool is gone.
#include "runtime/edge/tcp/buffer_pool.hpp"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "messages/limits.hpp"

namespace troupe::testing {
namespace {

TEST(buffer_pool, makes_as_many_as_are_in_use_at_a_time) {
  buffer_pool pool(4);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::shared_ptr<aligned_buffer>> held;
    for (std::uint64_t i = 0; i < 4; ++i) {
      held.push_back(pool.take(1000 + i * 1000));
      ASSERT_NE(held.back(), nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(held.back()->first(1).data()) % limits::payload_alignment, 0u);
      held.back()->first(1000 + i * 1000).back() = std::byte{1};
    }
    std::thread([&] { held.clear(); }).join();
  }
  EXPECT_EQ(pool.made(), 4u);
}

TEST(buffer_pool, keeps_no_more_than_asked_for) {
  buffer_pool pool(1);
  for (int round = 0; round < 3; ++round) {
    const auto first = pool.take(10);
    const auto second = pool.take(10);
    const std::weak_ptr<aligned_buffer> watched = second;
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_EQ(pool.made(), 4u);
}

TEST(buffer_pool, may_go_before_its_buffers) {
  std::shared_ptr<aligned_buffer> left;
  {
    buffer_pool pool(2);
    left = pool.take(100);
  }
  left->first(100).back() = std::byte{1};
}

}  // namespace
}  // namespace troupe::testing
