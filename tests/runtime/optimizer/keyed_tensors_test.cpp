#include "runtime/optimizer/keyed_tensors.hpp"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(dropout_mask, a_row_belongs_to_its_sample) {
  const std::vector<std::uint64_t> samples = {40, 41, 42, 43, 44, 45};
  const at::Tensor whole = dropout_mask({6, 5, 700}, 0.3, 1, 2, 3, samples);
  const at::Tensor first = dropout_mask({2, 5, 700}, 0.3, 1, 2, 3, std::span(samples).first(2));
  const at::Tensor rest = dropout_mask({4, 5, 700}, 0.3, 1, 2, 3, std::span(samples).subspan(2));
  EXPECT_TRUE(at::equal(whole, at::cat({first, rest})));
  EXPECT_FALSE(at::equal(whole[0], whole[1]));
  EXPECT_FALSE(at::equal(whole, dropout_mask({6, 5, 700}, 0.3, 1, 2, 4, samples))) << "another layer";
  EXPECT_FALSE(at::equal(whole, dropout_mask({6, 5, 700}, 0.3, 1, 3, 3, samples))) << "another step";
  const int threads = at::get_num_threads();
  at::set_num_threads(3);
  EXPECT_TRUE(at::equal(whole, dropout_mask({6, 5, 700}, 0.3, 1, 2, 3, samples)));
  at::set_num_threads(threads);
  EXPECT_EQ(dropout_mask({0, 4}, 0.3, 1, 2, 3, {}).numel(), 0);
}

}  // namespace
}  // namespace troupe
