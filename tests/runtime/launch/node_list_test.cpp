// Goal: lists of Slurm expand to the names and counts that Slurm means, within limits known before expansion. Method:
// vectors from public pages and random lists that an independent function compresses.
#include "runtime/launch/node_list.hpp"

#include <chrono>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "messages/limits.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;
using name_vector = std::vector<std::string>;
using count_vector = std::vector<std::uint32_t>;

struct good_list {
  std::string text;
  name_vector names;
};

TEST(node_list, expands_as_slurm_does) {
  const good_list table[] = {
      // of a job's environment, and of the pages on LLNL's lists of hosts
      {"gnode[10,20,25,37]", {"gnode10", "gnode20", "gnode25", "gnode37"}},
      {"foo[8-11]", {"foo8", "foo9", "foo10", "foo11"}},
      {"rack[01-3]-node[01-2,5]",
       {"rack01-node01", "rack01-node02", "rack01-node5", "rack02-node01", "rack02-node02", "rack02-node5",
        "rack03-node01", "rack03-node02", "rack03-node5"}},
      {"d[1-5],n[01-05]", {"d1", "d2", "d3", "d4", "d5", "n01", "n02", "n03", "n04", "n05"}},
      {"tux[0-3,12,20-21]", {"tux0", "tux1", "tux2", "tux3", "tux12", "tux20", "tux21"}},
      {"node1,node[2-4,12]", {"node1", "node2", "node3", "node4", "node12"}},
      {"rack[1-2]n[01-03]", {"rack1n01", "rack1n02", "rack1n03", "rack2n01", "rack2n02", "rack2n03"}},
      {"gnode[10,20-22],login1", {"gnode10", "gnode20", "gnode21", "gnode22", "login1"}},
      {"host", {"host"}},
      {"n[007]", {"n007"}},
      {"n[098-101]", {"n098", "n099", "n100", "n101"}},
      {"n[9-11]", {"n9", "n10", "n11"}},
      {"n[1,01,001]", {"n1", "n01", "n001"}},
      {"n[3,1-2]", {"n3", "n1", "n2"}},
      {"n[0-1].example.org", {"n0.example.org", "n1.example.org"}},
      {"r[1-2][3-4]", {"r13", "r14", "r23", "r24"}},
      {"[1-2]x", {"1x", "2x"}},
      {"10.0.0.[1-2]", {"10.0.0.1", "10.0.0.2"}},
      {"n[000000000000000001]", {"n000000000000000001"}},
  };
  for (const good_list& good : table) {
    const auto names = expand_node_list(good.text, "L");
    ASSERT_TRUE(names) << good.text << '\n' << to_string(names.error());
    EXPECT_EQ(*names, good.names) << good.text;
  }
}

struct bad_list {
  std::string text;
  int place;
  const char* words;
};

void expect_refused(const tl::expected<void, error>& got, const bad_list& bad) {
  ASSERT_FALSE(got) << bad.text;
  EXPECT_EQ(got.error().code, error_code::value_out_of_range) << bad.text;
  EXPECT_EQ(got.error().where, fmt::format("L, character {}", bad.place)) << bad.text;
  EXPECT_THAT(got.error().cause, HasSubstr(bad.words)) << bad.text;
  EXPECT_NE(got.error().fix, "");
}

TEST(node_list, names_place_and_cause_of_a_fault) {
  const bad_list table[] = {
      {"", 1, "a node's name is missing"},
      {",a", 1, "a node's name is missing"},
      {"a,", 3, "a node's name is missing"},
      {"a,,b", 3, "a node's name is missing"},
      {"a b", 2, "' ' stands in"},
      {"n[1-2", 2, "'[' has no ']'"},
      {"n1]", 3, "']' stands in"},
      {"n[]", 3, "a number is missing"},
      {"n[1,]", 5, "a number is missing"},
      {"n[-2]", 3, "a number is missing"},
      {"n[1-]", 5, "a number is missing"},
      {"n[1-2-3]", 5, "'2-3' is no number"},
      {"n[a]", 3, "'a' is no number"},
      {"n[1[2]]", 3, "'1[2' is no number"},
      {"n[2-1]", 3, "'2-1' runs backwards"},
      {"n[5,3-1]", 5, "'3-1' runs backwards"},
      {"n[1234567890123456789]", 3, "at most 18 digits"},
      {"n[1-99999999999999999999]", 5, "at most 18 digits"},
      {"a,a", 3, "node 'a' comes twice"},
      {"n[1-3],n2", 8, "node 'n2' comes twice"},
      {"n[1,1]", 1, "node 'n1' comes twice"},
      {"x,-n[1-2]", 3, "does not start with '-'"},
      {"[1-2]", 1, "'1' is no IPv4 address"},
      {"n[1-2]..x", 1, "between dots is empty"},
      {"::1", 1, "':' stands in"},
      {"bgl[000x133]", 5, "'000x133' is no number"},
      {"n[1-10001]", 3, "more than 10000 nodes"},
      {"n[1-10000],m", 12, "more than 10000 nodes"},
      {"n[1-5000,1-5001]", 10, "more than 10000 nodes"},
      {"x,n[1-100][1-100]", 3, "more than 10000 nodes"},
      {"n[1-999999999999999999]", 3, "more than 10000 nodes"},
      {"n[1-9999][1-9999][1-9999][1-9999][1-9999][1-9999]", 1, "more than 10000 nodes"},
      {"n[0-999999999999999999][0-999999999999999999]", 3, "more than 10000 nodes"},
  };
  for (const bad_list& bad : table) expect_refused(expand_node_list(bad.text, "L").map([](const auto&) {}), bad);
  std::string brackets;
  for (int i = 0; i < 100'000; ++i) brackets += "[1]";
  expect_refused(expand_node_list(brackets, "L").map([](const auto&) {}), {"", 1, "at most 253 bytes"});
  expect_refused(expand_node_list("n" + std::string(253, 'a'), "L").map([](const auto&) {}),
                 {"", 1, "at most 253 bytes"});
}

TEST(node_list, has_so_many_nodes) {
  EXPECT_EQ(expand_node_list("n[1-100]-[1-100]", "L")->size(), limits::launch_nodes_max);
  EXPECT_EQ(expand_node_list("n[00001-10000]", "L")->back(), "n10000");
}

/// "n[01-03,7]" for (n, {01, 02, 03, 7}): neighbours of equal width, of which the first is padded or has the width of
/// the last, share a range.
std::string compress(const std::string& prefix, const std::vector<std::pair<std::uint64_t, std::size_t>>& numbers) {
  name_vector items;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end].second == numbers[i].second &&
           numbers[end].first == numbers[end - 1].first + 1)
      ++end;
    const std::string low = fmt::format("{:0{}}", numbers[i].first, numbers[i].second);
    items.push_back(end == i + 1 ? low : fmt::format("{}-{}", low, numbers[end - 1].first));
    i = end;
  }
  return items.size() == 1 && items[0].find('-') == std::string::npos
             ? prefix + items[0]
             : fmt::format("{}[{}]", prefix, fmt::join(items, ","));
}

TEST(node_list, expands_what_was_compressed) {
  std::mt19937 random(20'240'311);
  const auto below = [&](std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random); };
  for (int round = 0; round < 500; ++round) {
    name_vector names;
    name_vector texts;
    for (std::uint64_t group = 0; group <= below(4); ++group) {
      const std::string prefix = fmt::format("{}{}-", "abc"[below(3)], group);
      const std::size_t width = 1 + below(5);
      std::vector<std::pair<std::uint64_t, std::size_t>> numbers;
      for (std::uint64_t next = below(1200), i = below(40) + 1; i > 0; --i, next += below(3) == 0 ? 1 + below(90) : 1) {
        numbers.emplace_back(next, width);
        names.push_back(fmt::format("{}{:0{}}", prefix, next, width));
      }
      texts.push_back(compress(prefix, numbers));
    }
    const std::string text = fmt::format("{}", fmt::join(texts, ","));
    const auto expanded = expand_node_list(text, "L");
    ASSERT_TRUE(expanded) << text << '\n' << to_string(expanded.error());
    ASSERT_EQ(*expanded, names) << text;
  }
}

TEST(count_list, expands_as_slurm_does) {
  const std::pair<std::string, count_vector> table[] = {
      // of sbatch's manual page
      {"2(x3),1", {2, 2, 2, 1}},
      {"72(x3),36", {72, 72, 72, 36}},
      {"1(x4)", {1, 1, 1, 1}},
      {"4", {4}},
      {"4,2,3(x2)", {4, 2, 3, 3}},
      {"8(x1)", {8}},
      {"4096", {4096}},
  };
  for (const auto& [text, expected_counts] : table) {
    const auto counts = expand_counts(text, "L");
    ASSERT_TRUE(counts) << text << '\n' << to_string(counts.error());
    EXPECT_EQ(*counts, expected_counts) << text;
  }
  EXPECT_EQ(expand_counts("1(x10000)", "L")->size(), limits::launch_nodes_max);
}

TEST(count_list, names_place_and_cause_of_a_fault) {
  const bad_list table[] = {
      {"", 1, "a number is missing"},
      {"1,", 3, "a number is missing"},
      {",1", 1, "a number is missing"},
      {"(x3)", 1, "a number is missing"},
      {"2(x)", 4, "a number is missing"},
      {"2(x3", 5, "')' is missing"},
      {"2(x", 4, "')' is missing"},
      {"2(3)", 2, "'(xN)' is expected"},
      {"2(", 2, "'(xN)' is expected"},
      {"2x3", 1, "'2x3' is no number"},
      {"2(x3)1", 7, "')' is missing"},
      {"1,2(xy)", 6, "'y' is no number"},
      {"-1", 1, "'-1' is no number"},
      {"0", 1, "0 is found, 1 to 4096 is expected"},
      {"1,4097", 3, "4097 is found"},
      {"2(x0)", 4, "0 is found, 1 to 10000 is expected"},
      {"2(x10001)", 4, "10001 is found"},
      {"2(x99999999999999999999)", 4, "is found, 1 to 10000"},
      {"2(x10000),1", 11, "more than 10000 nodes"},
  };
  for (const bad_list& bad : table) expect_refused(expand_counts(bad.text, "L").map([](const auto&) {}), bad);
}

}  // namespace
}  // namespace troupe
