// Goal: a topology gives the same bits in worker processes, all of its stages or some, as in one process. Method: the
// topologies of examples/, with replicas, joins, routes and several sinks, run by a program that prints their results.
#include <gtest/gtest.h>

#include "tests/processes/lenet.hpp"
#include "tests/processes/marked_run.hpp"
#include "tests/processes/odd_samples.hpp"
#include "tests/support/case_choice.hpp"
#include "tests/support/sanitized.hpp"

namespace troupe::testing {
namespace {

using json = nlohmann::json;

struct example_case {
  const char* name;
  int micro_batch;
  int samples;
  int replicas;
  std::vector<const char*> where;
};

class example_in_processes : public ::testing::TestWithParam<example_case> {
 protected:
  [[nodiscard]] static json result_of(const std::string& where) {
    const example_case& one = GetParam();
    marked_run run({one.name, where, std::to_string(one.micro_batch), std::to_string(one.samples),
                    std::to_string(one.replicas), std::filesystem::absolute(data_dir()).string()},
                   EXAMPLE_PROGRAM);
    const auto outcome = run.run();
    EXPECT_EQ(outcome.status, 0) << where << ": " << outcome.err;
    run.expect_nothing_left();
    return outcome.status == 0 ? json::parse(outcome.out) : json();
  }
};

TEST_P(example_in_processes, gives_the_same_bits_as_in_one_process) {
  const json whole = result_of("none");
  ASSERT_FALSE(whole.is_null());
  const auto samples = static_cast<std::uint64_t>(GetParam().samples);
  const bool has_odd = std::string(GetParam().name).starts_with("classes");
  EXPECT_EQ(whole["samples_with_nan"], has_odd ? samples_with_nan(samples) : 0);
  EXPECT_EQ(whole["samples_with_infinity"], has_odd ? samples_with_infinity(samples) : 0);
  for (const std::string where : GetParam().where) {
    SCOPED_TRACE(where);
    const json result = result_of(where);
    ASSERT_FALSE(result.is_null());
    EXPECT_EQ(words_of(result["metrics"]), words_of(whole["metrics"]));
    if (whole.contains("sinks")) {
      EXPECT_EQ(words_of(result["sinks"]), words_of(whole["sinks"]));
    }
    EXPECT_EQ(result["samples"], GetParam().samples);
    EXPECT_EQ(result["samples_with_nan"], whole["samples_with_nan"]);
    EXPECT_EQ(result["samples_with_infinity"], whole["samples_with_infinity"]);
    EXPECT_EQ(result["delivery"]["folded"], whole["delivery"]["expected"]);
    EXPECT_EQ(result["delivery"]["lost"], 0);
  }
}

/// The only stages of own_parts are a model's.
const std::vector<example_case> cases = {
    {"chain", 7, 500, 1, {"all", "stages"}},  {"cascade", 16, 400, 2, {"all", "stages"}},
    {"crops", 16, 200, 1, {"all", "stages"}}, {"ensemble", 7, 400, 2, {"all", "stages"}},
    {"own_parts", 64, 1000, 2, {"all"}},      {"replicas", 16, 200, 1, {"all", "stages"}},
    {"classes_300", 3, 300, 2, {"all"}},      {"classes_21841", 16, 320, 2, {"all"}},
    {"classes_1023", 16, 128, 1, {"all"}}};

/// classes_1023 sends what takes a sanitizer minutes; classes_300 runs the same code.
std::vector<example_case> cases_of_this_run() {
  return sanitized ? some_of(std::vector(cases.begin(), cases.end() - 1), 1) : cases;
}

INSTANTIATE_TEST_SUITE_P(cases, example_in_processes, ::testing::ValuesIn(cases_of_this_run()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace troupe::testing
