// Goal: a rewritten graph gives a row the same bits in every batch and on any number of threads. Method: random graphs,
// batches against their own rows; the plain graphs show that LibTorch does not.
#include <algorithm>
#include <array>
#include <string>

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "tests/runtime/rewrite/graph_builder.hpp"
#include "tests/runtime/rewrite/random_graph.hpp"

namespace troupe::testing {
namespace {

/// Products of LibTorch that no rewrite has packed still depend on the batch.
bool has_unpacked_product(const rewritten& made) {
  constexpr std::array kinds = {"aten::conv2d", "aten::_convolution", "aten::linear", "aten::addmm", "aten::matmul"};
  return std::ranges::any_of(kinds, [&](const char* kind) { return made.count(kind) > 0; });
}

/// The rows [first, first + count) of a batch, in new memory, with the strides between and within rows kept.
at::Tensor rows_of(const at::Tensor& batch, std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> sizes = batch.sizes().vec();
  sizes[0] = count;
  at::Tensor rows = at::empty_strided(sizes, batch.strides());
  rows.copy_(batch.narrow(0, first, count));
  return rows;
}

/// The first sub-batch whose rows have other bits than in the whole batch; empty if there is none.
std::string dependent_rows(const rewritten& made, const at::Tensor& batch, const std::vector<std::int64_t>& counts) {
  const auto whole = outputs_of(made.graph, {batch});
  for (const std::int64_t count : counts) {
    for (std::int64_t first = 0; first + count <= batch.size(0); first += count) {
      const auto part = outputs_of(made.graph, {rows_of(batch, first, count)});
      for (std::size_t i = 0; i < whole.size(); ++i) {
        if (at::equal(part[i], whole[i].narrow(0, first, count))) continue;
        return "output " + std::to_string(i) + ", " + std::to_string(count) + " rows from " + std::to_string(first);
      }
    }
  }
  return {};
}

bool have_equal_bits(const std::vector<at::Tensor>& some, const std::vector<at::Tensor>& others) {
  return std::ranges::equal(some, others, [](const at::Tensor& a, const at::Tensor& b) { return at::equal(a, b); });
}

/// 33 rows of the same shape as the rows of a batch.
at::Tensor many_rows(const at::Tensor& batch) {
  std::vector<std::int64_t> sizes = batch.sizes().vec();
  sizes[0] = 33;
  return at::randn(sizes);
}

TEST(batch_independence, holds_for_random_graphs_of_rewritten_operators) {
  int checked = 0;
  int dependent_before = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    at::set_num_threads(1);
    const random_graph drawn = draw_graph(seed);
    const rewritten made = rewrite(drawn.graph);
    if (has_unpacked_product(made)) continue;
    ++checked;
    const at::Tensor& few = drawn.inputs[1];
    const at::Tensor many = many_rows(few);
    dependent_before += dependent_rows({drawn.graph, {}}, few, {1}).empty() ? 0 : 1;
    EXPECT_EQ(dependent_rows(made, few, {1, 2, 3, 4}), "") << "seed " << seed << "\n" << made.graph->toString(false);
    EXPECT_EQ(dependent_rows(made, many, {1, 8, 32}), "") << "seed " << seed << "\n" << made.graph->toString(false);
    const auto alone = outputs_of(made.graph, {many});
    at::set_num_threads(3);
    EXPECT_TRUE(have_equal_bits(outputs_of(made.graph, {many}), alone)) << "3 threads, seed " << seed;
  }
  EXPECT_GT(checked, 100);
  EXPECT_GT(dependent_before, 40) << "without rewriting, many of the graphs depend on the batch";
}

}  // namespace
}  // namespace troupe::testing
