// Goal: rewritten graphs compute what plain ones do, up to rounding. Method: graphs drawn at random, against LibTorch's
// interpreter on the plain graph.
#include <cstdlib>
#include <string>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "tests/runtime/rewrite/graph_builder.hpp"
#include "tests/runtime/rewrite/random_graph.hpp"

namespace troupe::testing {
namespace {

/// TROUPE_RANDOM_GRAPHS=FIRST..LAST draws others.
std::pair<std::uint64_t, std::uint64_t> seeds() {
  const char* const asked = std::getenv("TROUPE_RANDOM_GRAPHS");
  if (asked == nullptr) return {1, 400};
  const std::string text = asked;
  const auto dots = text.find("..");
  return {std::stoull(text), std::stoull(dots == std::string::npos ? text : text.substr(dots + 2))};
}

TEST(random_graphs, rewritten_ones_compute_what_plain_ones_do) {
  at::set_num_threads(1);
  rewrite_report all;
  const auto [first, last] = seeds();
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const random_graph drawn = draw_graph(seed);
    for (const rewrite_target target : {rewrite_target::cpu, rewrite_target::device}) {
      const rewritten made = rewrite(drawn.graph, target);
      for (const at::Tensor& input : drawn.inputs) {
        ASSERT_EQ(difference(drawn.graph, made, {input}), "")
            << "seed " << seed << ", input " << input.sizes() << " " << input.strides() << "\n"
            << drawn.graph->toString(false) << made.graph->toString(false);
      }
      all.folded_normalisations += made.report.folded_normalisations;
      all.folded_constants_per_channel += made.report.folded_constants_per_channel;
      all.operators_not_in_place += made.report.operators_not_in_place;
      all.packed_convolutions += made.report.packed_convolutions;
      all.additions_in_place += made.report.additions_in_place;
      all.packed_linears += made.report.packed_linears;
      all.joined_relus += made.report.joined_relus;
    }
  }
  if (last - first < 300) return;
  // Each rewrite was among them often.
  EXPECT_GT(all.folded_normalisations, 100u);
  EXPECT_GT(all.folded_constants_per_channel, 50u);
  EXPECT_GT(all.operators_not_in_place, 50u);
  EXPECT_GT(all.packed_convolutions, 100u);
  EXPECT_GT(all.additions_in_place, 10u);
  EXPECT_GT(all.packed_linears, 100u);
  EXPECT_GT(all.joined_relus, 50u);
}

}  // namespace
}  // namespace troupe::testing
