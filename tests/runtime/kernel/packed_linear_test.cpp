// Goal: a packed linear layer has the bits of its contract at every vector width, in every batch and on any threads,
// and touches no other memory. Method: a plain loop with std::fma; guard values around all arrays; for the size of the
// error double precision.
#include "runtime/kernel/packed_linear.hpp"

#include <algorithm>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "tests/runtime/kernel/guarded_numbers.hpp"
#include "tests/runtime/kernel/linear_case.hpp"

namespace troupe {
namespace {

using testing::bits_of;
using testing::guarded_numbers;
using testing::linear_case;
using testing::name_of;

constexpr float untouched = -7654.25F;

/// `count` threads that each take a range, and one more range in the caller's.
parallel_for over_threads(std::int64_t count) {
  return [count](std::int64_t tasks, std::int64_t, const std::function<void(std::int64_t, std::int64_t)>& range) {
    std::vector<std::thread> threads;
    for (std::int64_t i = 1; i < count; ++i) {
      threads.emplace_back(range, tasks * i / count, tasks * (i + 1) / count);
    }
    range(0, tasks / count);
    for (std::thread& thread : threads) thread.join();
  };
}

TEST(packed_linear, gives_the_bits_of_one_chain_per_output_at_every_width) {
  std::mt19937 random(7);
  const auto below = [&](unsigned limit) { return static_cast<std::int64_t>(random() % limit); };
  for (unsigned i = 0; i < 150; ++i) {
    const linear_case all =
        linear_case::random(1 + below(i % 10 == 0 ? 120 : 14), below(i % 7 == 0 ? 600 : 60), 1 + below(150), i);
    const bool has_relu = i % 2 == 1;
    const auto expected = bits_of(all.chains(has_relu));
    for (const vector_width width : usable_vector_widths()) {
      ASSERT_EQ(bits_of(all.run({.has_relu = has_relu, .width = width})), expected)
          << all.rows << " x " << all.inputs << " x " << all.outputs << ", " << name_of(width);
    }
  }
}

TEST(packed_linear, stays_near_the_exact_result) {
  const linear_case all = linear_case::random(5, 700, 40);
  const auto exact = all.by_loop<double>(false, [](double sum, double a, double w) { return sum + a * w; });
  const auto sizes =
      all.by_loop<double>(false, [](double sum, double a, double w) { return std::abs(sum) + std::abs(a * w); });
  const std::vector<float> y = all.run({});
  for (std::size_t i = 0; i < y.size(); ++i) {
    // a chain of n roundings: Higham, Accuracy and Stability of Numerical Algorithms, chapter 3
    EXPECT_LE(std::abs(y[i] - exact[i]), 700 * std::numeric_limits<float>::epsilon() / 2 * sizes[i]);
  }
}

TEST(packed_linear, gives_each_row_the_same_bits_in_every_batch) {
  for (const vector_width width : usable_vector_widths()) {
    const linear_case all = linear_case::random(257, 300, 37);
    const packed_weights weights = all.packed();
    const auto expected = bits_of(all.run({.width = width}));
    // alone, all rows; then batches of every size, from both ends
    for (std::int64_t rows = 1; rows <= 257; rows += rows < 20 || rows > 250 ? 1 : 13) {
      const std::int64_t step = rows == 1 ? 1 : std::max<std::int64_t>(1, 257 - rows);
      for (std::int64_t first = 0; first + rows <= 257; first += step) {
        std::vector<float> y(static_cast<std::size_t>(rows * 37));
        packed_linear<float>(weights, rows, {all.x.data() + first * 300, 300}, {y.data(), 37}, {.width = width});
        ASSERT_TRUE(std::ranges::equal(bits_of(y), std::span(expected).subspan(first * 37, rows * 37)))
            << rows << " rows from " << first << ", " << name_of(width);
      }
    }
  }
}

TEST(packed_linear, gives_the_same_bits_on_several_threads) {
  for (const std::int64_t rows : {1, 5, 130}) {
    const linear_case all = linear_case::random(rows, 80, 300);
    const auto expected = bits_of(all.run({}));
    for (const std::int64_t threads : {1, 2, 3, 7}) {
      EXPECT_EQ(bits_of(all.run({.threads = over_threads(threads)})), expected) << rows << " rows, " << threads;
    }
  }
}

TEST(packed_linear, offers_work_for_threads_in_any_order) {
  const linear_case all = linear_case::random(130, 80, 300);
  std::int64_t ranges = 0;
  const parallel_for backwards = [&](std::int64_t tasks, std::int64_t, const auto& range) {
    for (std::int64_t i = tasks; i > 0; --i) range(i - 1, i);
    ranges = tasks;
  };
  EXPECT_EQ(bits_of(all.run({.threads = backwards})), bits_of(all.run({})));
  EXPECT_GE(ranges, 7);
}

TEST(packed_linear, lets_small_work_stay_on_one_thread) {
  std::int64_t grain_seen = 0;
  std::int64_t tasks_seen = 0;
  const parallel_for watched = [&](std::int64_t tasks, std::int64_t grain, const auto& range) {
    tasks_seen = tasks;
    grain_seen = grain;
    range(0, tasks);
  };
  linear_case::random(1, 64, 256).run({.threads = watched});
  EXPECT_GE(grain_seen, tasks_seen);
  linear_case::random(48, 256, 512).run({.threads = watched});
  EXPECT_EQ(grain_seen, 1);
}

TEST(packed_linear, touches_nothing_outside_of_its_arrays) {
  for (const vector_width width : usable_vector_widths()) {
    for (const bool at_end : {false, true}) {
      for (const std::int64_t outputs : {1, 7, 8, 9, 15, 16, 17, 33, 70, 129}) {
        for (const std::int64_t rows : {1, 2, 3, 6, 7, 50}) {
          const linear_case all = linear_case::random(rows, 19, outputs);
          const guarded_numbers<float> x(all.x.size(), at_end);
          const guarded_numbers<float> w(all.weights.size(), at_end);
          const guarded_numbers<float> bias(all.bias.size(), at_end);
          const guarded_numbers<float> y(static_cast<std::size_t>(rows * outputs), at_end);
          std::ranges::copy(all.x, x.data());
          std::ranges::copy(all.weights, w.data());
          std::ranges::copy(all.bias, bias.data());
          const packed_weights weights(weight_matrix<float>{w.data(), outputs, 19, 19, 1}, bias.data());
          packed_linear<float>(weights, rows, {x.data(), 19}, {y.data(), outputs}, {.width = width});
          ASSERT_EQ(bits_of(y.all()), bits_of(all.chains()));
        }
      }
    }
  }
}

TEST(packed_linear, leaves_the_gaps_between_rows_alone) {
  for (const vector_width width : usable_vector_widths()) {
    const linear_case all = linear_case::random(9, 21, 27);
    std::vector<float> y(9 * 40, untouched);
    packed_linear<float>(all.packed(), 9, {all.x.data(), 21}, {y.data() + 3, 40}, {.width = width});
    const std::vector<float> expected = all.chains();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t row = i / 40;
      const std::size_t column = i % 40 - 3;
      ASSERT_EQ(y[i], i % 40 >= 3 && column < 27 ? expected[row * 27 + column] : untouched) << i;
    }
  }
}

TEST(packed_linear, reads_rows_at_any_distance) {
  const linear_case all = linear_case::random(11, 30, 20);
  const packed_weights weights = all.packed();
  const std::vector<float> forwards = all.chains();
  std::vector<float> y(11 * 20);
  packed_linear<float>(weights, 11, {all.x.data() + 10 * 30, -30}, {y.data(), 20}, {});
  for (std::size_t m = 0; m < 11; ++m) {
    EXPECT_TRUE(std::ranges::equal(std::span(y).subspan(m * 20, 20), std::span(forwards).subspan((10 - m) * 20, 20)));
  }
  packed_linear<float>(weights, 11, {all.x.data(), 0}, {y.data(), 20}, {});
  for (std::size_t m = 0; m < 11; ++m) {
    EXPECT_TRUE(std::ranges::equal(std::span(y).subspan(m * 20, 20), std::span(forwards).subspan(0, 20)));
  }
}

TEST(packed_linear, knows_no_rows_no_inputs_and_no_outputs) {
  for (const vector_width width : usable_vector_widths()) {
    linear_case::random(0, 5, 5).run({.width = width});
    linear_case::random(5, 5, 0).run({.width = width});
    const linear_case without_inputs = linear_case::random(8, 0, 19);
    for (const bool has_relu : {false, true}) {
      EXPECT_EQ(without_inputs.run({.has_relu = has_relu, .width = width}), without_inputs.chains(has_relu));
    }
  }
}

TEST(packed_linear, widens_bfloat16_exactly_and_rounds_once) {
  linear_case all = linear_case::random(140, 90, 37);
  std::vector<bfloat16> x;
  std::vector<bfloat16> w;
  for (float& number : all.x) number = widened(x.emplace_back(rounded_to_bfloat16(number)));
  for (float& number : all.weights) number = widened(w.emplace_back(rounded_to_bfloat16(number)));
  const packed_weights weights(weight_matrix<bfloat16>{w.data(), 37, 90, 90, 1}, all.bias.data());
  EXPECT_TRUE(weights.is_bfloat16());
  const std::vector<float> expected = all.chains();
  std::vector<bfloat16> rounded;
  for (const float number : expected) rounded.push_back(rounded_to_bfloat16(number));
  for (const vector_width width : usable_vector_widths()) {
    std::vector<float> wide(expected.size());
    std::vector<bfloat16> narrow(expected.size());
    packed_linear<float>(weights, 140, {all.x.data(), 90}, {wide.data(), 37}, {.width = width});
    EXPECT_EQ(wide, expected) << name_of(width);
    packed_linear<bfloat16>(weights, 140, {x.data(), 90}, {narrow.data(), 37}, {.width = width});
    EXPECT_EQ(narrow, rounded) << name_of(width);
  }
}

}  // namespace
}  // namespace troupe
