#include "tests/processes/undisturbed.hpp"

#include <map>

#include <gtest/gtest.h>

#include "tests/processes/marked_run.hpp"

namespace troupe::testing {

const undisturbed& undisturbed::of(const std::vector<std::string>& arguments) {
  static std::map<std::vector<std::string>, undisturbed> known;
  const auto found = known.find(arguments);
  if (found != known.end()) return found->second;
  std::vector<std::string> all = arguments;
  all.insert(all.end(), {"--journal", "whole.journal"});
  marked_run run(std::move(all));
  const auto outcome = run.run();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  if (outcome.status != 0) return known[arguments];
  const auto result = nlohmann::json::parse(outcome.out);
  return known[arguments] = {.metrics = words_of(result["metrics"]),
                             .micro_batches = result["micro_batches"],
                             .journal_bytes = run.size_of("whole.journal")};
}

void undisturbed::expect_same(const program_outcome& outcome) const {
  ASSERT_EQ(outcome.status, 0);
  const auto result = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(words_of(result["metrics"]), metrics);
  EXPECT_EQ(result["delivery"]["expected"], micro_batches);
  EXPECT_EQ(result["delivery"]["folded"], micro_batches);
  EXPECT_EQ(result["delivery"]["lost"], 0);
  EXPECT_FALSE(result.contains("partial"));
}

}  // namespace troupe::testing
