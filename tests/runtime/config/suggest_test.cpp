// Goal: a misspelled name finds its neighbour, a strange one none. Method: distances counted by hand.
#include "runtime/suggest/suggest.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(edit_distance, counts_inserts_deletes_replacements_and_swaps_once_each) {
  EXPECT_EQ(edit_distance("stages", "stages"), 0U);
  EXPECT_EQ(edit_distance("stage", "stages"), 1U);
  EXPECT_EQ(edit_distance("stagess", "stages"), 1U);
  EXPECT_EQ(edit_distance("stazes", "stages"), 1U);
  EXPECT_EQ(edit_distance("satges", "stages"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
}

TEST(edit_distance, takes_case_and_hyphen_for_alike) {
  EXPECT_EQ(edit_distance("Micro-Batch", "micro_batch"), 0U);
}

TEST(suggest, finds_what_is_within_two_edits) {
  const std::vector<std::string> known = {"stages", "replicas", "json"};
  EXPECT_EQ(suggest("stgaes", known), "stages");
  EXPECT_EQ(suggest("jsn", known), "json");
  EXPECT_EQ(suggest("repicsa", known), "replicas");
}

TEST(suggest, finds_the_shortest_name_that_begins_with_the_word) {
  const std::vector<std::string> known = {"cross_entropy", "confusion_matrix", "crossing"};
  EXPECT_EQ(suggest("cross", known), "crossing");
  EXPECT_EQ(suggest("conf", known), "confusion_matrix");
}

TEST(suggest, stays_silent_where_nothing_is_near) {
  const std::vector<std::string> known = {"nll", "stages"};
  EXPECT_EQ(suggest("processes", known), std::nullopt);
  EXPECT_EQ(suggest("abc", known), std::nullopt);
  EXPECT_EQ(suggest("", known), std::nullopt);
  // Two of three letters differ: no misspelling.
  EXPECT_EQ(suggest("nab", known), std::nullopt);
}

TEST(suggest, another_number_is_no_slip) {
  const std::vector<std::string> kinds = {"mnist", "cifar10", "npy"};
  EXPECT_EQ(suggest("cifar100", kinds), std::nullopt);
  EXPECT_EQ(suggest("cifar01", kinds), "cifar10");
  EXPECT_EQ(suggest("cifr10", kinds), "cifar10");
  EXPECT_EQ(suggest("cifar", kinds), "cifar10");
}

TEST(suggest_fix, lists_the_names_where_none_is_near) {
  const std::vector<std::string> known = {"layer", "stage"};
  EXPECT_EQ(suggest_fix("lyaer", known), "write \"layer\"");
  EXPECT_EQ(suggest_fix("quantise", known), "use one of: layer, stage");
}

}  // namespace
}  // namespace troupe
