// Goal: cuts weigh the bytes that cross them, and are only where they may be. Method: against all cuts of random small
// cases, judged by a plain loop; and by hand for a network with a skip over its middle.
#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/partition/method_costs.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;

/// A case whose sums are exact: whole seconds, and bytes that cost a power of two.
struct small_case {
  std::vector<double> seconds;
  std::vector<cut_place> places;
  double seconds_per_byte = 0;
  std::size_t most_parts = 1;
};

small_case draw(std::mt19937_64& random) {
  small_case made;
  const std::size_t items = 1 + random() % 9;
  const std::uint64_t seconds = 1 + random() % 8;
  const std::uint64_t bytes = 1 + random() % 4;
  const double prices[] = {0, 0.25, 1, 4};
  made.seconds_per_byte = prices[random() % 4];
  for (std::size_t i = 0; i < items; ++i) {
    made.seconds.push_back(static_cast<double>(random() % seconds));
    made.places.push_back({.is_allowed = random() % 4 != 0, .bytes = random() % bytes});
    if (i > 0 && made.places.back().is_allowed) ++made.most_parts;
  }
  return made;
}

/// Every list of cuts at allowed places.
void for_allowed_cuts(const small_case& of, std::size_t parts, part_boundaries& cuts,
                      const std::function<void()>& visit) {
  if (cuts.size() == parts) {
    cuts.push_back(of.seconds.size());
    visit();
    cuts.pop_back();
    return;
  }
  for (std::size_t next = cuts.back() + 1; next < of.seconds.size(); ++next) {
    if (!of.places[next].is_allowed) continue;
    cuts.push_back(next);
    for_allowed_cuts(of, parts, cuts, visit);
    cuts.pop_back();
  }
}

/// Slowest part, bytes, squares, cuts: in the order in which they count.
using verdict = std::tuple<double, std::uint64_t, double, part_boundaries>;

verdict verdict_on(const small_case& of, const part_boundaries& cuts) {
  double slowest = 0;
  double squares = 0;
  std::uint64_t crossing = 0;
  for (std::size_t part = 0; part + 1 < cuts.size(); ++part) {
    double time = 0;
    for (std::size_t i = cuts[part]; i < cuts[part + 1]; ++i) time += of.seconds[i];
    if (part > 0) {
      time += of.seconds_per_byte * static_cast<double>(of.places[cuts[part]].bytes);
      crossing += of.places[cuts[part]].bytes;
    }
    if (part + 2 < cuts.size()) time += of.seconds_per_byte * static_cast<double>(of.places[cuts[part + 1]].bytes);
    slowest = std::max(slowest, time);
    squares += time * time;
  }
  return {slowest, crossing, squares, cuts};
}

TEST(minimise_slowest_with_bytes, equals_brute_force) {
  std::mt19937_64 random(47);
  for (int round = 0; round < 3000; ++round) {
    const small_case one = draw(random);
    const std::size_t parts = 1 + random() % one.most_parts;
    std::optional<verdict> best;
    part_boundaries cuts{0};
    for_allowed_cuts(one, parts, cuts, [&] {
      const verdict here = verdict_on(one, cuts);
      best = best ? std::min(*best, here) : here;
    });
    ASSERT_EQ(minimise_slowest(one.seconds, one.places, one.seconds_per_byte, parts), std::get<3>(*best)) << round;
  }
}

TEST(minimise_slowest_with_bytes, equal_bytes_that_cost_nothing_change_no_cut) {
  std::mt19937_64 random(48);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> seconds(2 + random() % 12);
    for (double& each : seconds) each = static_cast<double>(random() % 7);
    const std::vector<cut_place> places(seconds.size(), cut_place{.is_allowed = true, .bytes = 4096});
    const std::size_t parts = 1 + random() % seconds.size();
    ASSERT_EQ(minimise_slowest(seconds, places, 0, parts), minimise_slowest(seconds, parts));
  }
}

TEST(moved_to_allowed, equals_brute_force_and_leaves_alone_what_is_allowed) {
  std::mt19937_64 random(49);
  for (int round = 0; round < 3000; ++round) {
    const small_case one = draw(random);
    const std::size_t parts = 1 + random() % one.most_parts;
    const part_boundaries wanted = partition_uniform(one.seconds.size(), parts);
    std::optional<std::tuple<std::size_t, part_boundaries>> best;
    part_boundaries cuts{0};
    for_allowed_cuts(one, parts, cuts, [&] {
      std::size_t distance = 0;
      for (std::size_t i = 0; i < cuts.size(); ++i) {
        distance += std::max(cuts[i], wanted[i]) - std::min(cuts[i], wanted[i]);
      }
      const std::tuple here{distance, cuts};
      best = best ? std::min(*best, here) : here;
    });
    const part_boundaries moved = moved_to_allowed(wanted, one.places);
    ASSERT_EQ(moved, std::get<1>(*best)) << round;
    ASSERT_TRUE(std::get<0>(*best) > 0 || moved == wanted) << round;
  }
}

TEST(costs_of, equals_the_plain_loop) {
  std::mt19937_64 random(50);
  for (int round = 0; round < 300; ++round) {
    const small_case one = draw(random);
    const part_boundaries cuts = minimise_slowest(one.seconds, one.places, one.seconds_per_byte, one.most_parts);
    double slowest = 0;
    std::uint64_t bytes = 0;
    for (const part_cost& each : costs_of(cuts, one.seconds, one.places, one.seconds_per_byte)) {
      slowest = std::max(slowest, each.total());
      bytes += each.bytes_before;
    }
    ASSERT_EQ(slowest, std::get<0>(verdict_on(one, cuts)));
    ASSERT_EQ(bytes, std::get<1>(verdict_on(one, cuts)));
  }
}

/// Four layers down, four up. Before layer i all skips of the layers before it that are still to be used are live; the
/// deeper, the smaller.
std::vector<layer_weight> u_net() {
  std::vector<layer_weight> layers;
  const std::uint64_t bytes[] = {100, 800, 1200, 1400, 1500, 1400, 1200, 800};
  for (const std::uint64_t before : bytes) layers.push_back({"Block", 10, 1, before});
  return layers;
}

part_boundaries profile(const std::vector<layer_weight>& layers, double seconds_per_byte) {
  return *partition_layers(*parse_partition_method("profile"), layers, 2,
                           {.cut_cost_seconds_per_byte = seconds_per_byte});
}

TEST(partition_layers_with_bytes, moves_the_cut_of_a_u_net_only_if_bytes_cost_more_than_balance) {
  EXPECT_EQ(profile(u_net(), 0), (part_boundaries{0, 4, 8}));
  EXPECT_EQ(profile(u_net(), 1e-3), (part_boundaries{0, 4, 8})) << "1.5 s against 1.4 s and a layer more";
  EXPECT_EQ(profile(u_net(), 2e-2), (part_boundaries{0, 1, 8})) << "7 + 16 s against 4 + 30 s";
}

TEST(partition_layers_with_bytes, takes_the_fewest_bytes_of_cuts_that_are_equally_fast) {
  std::vector<layer_weight> layers = {{"A", 1, 5, 0}, {"B", 1, 1, 900}, {"C", 1, 0, 100}, {"D", 1, 0, 500}};
  EXPECT_EQ(profile(layers, 0), (part_boundaries{0, 1, 4})) << "only there the slowest stage takes 5 s";
  layers[1].seconds = 0;
  EXPECT_EQ(profile(layers, 0), (part_boundaries{0, 2, 4}));
}

TEST(costs_of_methods, of_a_u_net_by_hand) {
  std::vector<layer_weight> layers = u_net();
  layers[7].parameters = 1000;
  const auto costs = costs_of_methods(layers, 2, {.cut_cost_seconds_per_byte = 2e-2});
  ASSERT_EQ(costs.size(), 3u);
  EXPECT_EQ(costs[0].method, "profile");
  EXPECT_EQ(costs[0].boundaries, (part_boundaries{0, 1, 8}));
  EXPECT_DOUBLE_EQ(costs[0].slowest_seconds, 7 + 0.02 * 800);
  EXPECT_EQ(costs[0].bytes, 800u);
  EXPECT_EQ(costs[1].method, "parameters");
  EXPECT_EQ(costs[1].boundaries, (part_boundaries{0, 7, 8}));
  EXPECT_DOUBLE_EQ(costs[1].slowest_seconds, 7 + 0.02 * 800);
  EXPECT_EQ(costs[2].method, "uniform");
  EXPECT_DOUBLE_EQ(costs[2].slowest_seconds, 4 + 0.02 * 1500);
  EXPECT_EQ(costs[2].bytes, 1500u);
  EXPECT_TRUE(costs_of_methods(layers, 9, {}).empty());
}

std::vector<layer_weight> joined_at(std::vector<std::size_t> places) {
  std::vector<layer_weight> layers(6, layer_weight{"Linear", 10, 1});
  for (const std::size_t each : places) layers[each].joined_because = "relu_ (model.py:7) writes what both use";
  return layers;
}

expected<part_boundaries> cut_joined(std::string_view method, const std::vector<layer_weight>& layers,
                                     std::size_t stages, const cut_terms& terms = {}) {
  return partition_layers(*parse_partition_method(method), layers, stages, terms);
}

TEST(partition_layers_with_joined_layers, moves_boundaries_of_every_method_to_where_a_cut_may_be) {
  for (const char* method : {"uniform", "parameters", "type:linear"}) {
    EXPECT_EQ(*cut_joined(method, joined_at({}), 3), (part_boundaries{0, 2, 4, 6})) << method;
    EXPECT_EQ(*cut_joined(method, joined_at({2}), 3), (part_boundaries{0, 1, 4, 6})) << method;
    EXPECT_EQ(*cut_joined(method, joined_at({1, 2, 4}), 3), (part_boundaries{0, 3, 5, 6})) << method;
  }
  EXPECT_EQ(*cut_joined("profile", joined_at({3}), 2), (part_boundaries{0, 2, 6}));
  EXPECT_EQ(most_stages(joined_at({0, 1, 5})), 4u) << "nothing is before the first layer";
  EXPECT_EQ(most_stages({}), 0u);
}

TEST(partition_layers_with_joined_layers, refuses_boundaries_that_separate_them_and_tells_which_do_not) {
  const auto refused = cut_joined("0,3,6", joined_at({3}), 2);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, error_code::partition_bad_boundaries);
  EXPECT_EQ(refused.error().cause, "the model cannot be cut before layer 3: relu_ (model.py:7) writes what both use");
  EXPECT_EQ(refused.error().fix, "use 0,2,6");
  EXPECT_TRUE(cut_joined("0,2,6", joined_at({3}), 2));
}

TEST(partition_layers_with_joined_layers, says_why_there_are_too_few_places) {
  const auto refused = cut_joined("uniform", joined_at({1, 2, 3, 5}), 3);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, error_code::more_stages_than_layers);
  EXPECT_EQ(refused.error().cause,
            "3 stages for 6 layers, 4 of which cannot be separated from the one before: before layer 1 relu_ "
            "(model.py:7) writes what both use");
  EXPECT_EQ(refused.error().fix, "use at most 2 stages");
  EXPECT_TRUE(cut_joined("uniform", joined_at({1, 2, 3, 5}), 2));

  EXPECT_EQ(cut_joined("uniform", {}, 1).error().code, error_code::more_stages_than_layers);
  const std::vector<layer_weight> one = {{"Net", 10, 1}};
  EXPECT_EQ(cut_joined("uniform", one, 2, {.few_because = "forward writes self._state (model.py:9)"}).error().cause,
            "2 stages for 1 layer: forward writes self._state (model.py:9)");
  EXPECT_THAT(cut_joined("uniform", one, 2).error().cause, HasSubstr("troupe inspect"));
}

}  // namespace
}  // namespace troupe
