// Goal: options of a metric have one spelling in the result whatever the order they are given in, and a mistake names
// metric, option, the values there are and a fix that works. Method: names, some of them wrong, through make_metric.
#include "runtime/metric/metric_settings.hpp"

#include <array>
#include <bit>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/metric/metric_lookup.hpp"
#include "runtime/metric/metric_table.hpp"
#include "tests/runtime/metric/one_part.hpp"

namespace troupe {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(metric_settings, have_one_spelling) {
  for (const auto& [given, name] : std::vector<std::pair<std::string, std::string>>{
           {"fbeta", "fbeta"},
           {"fbeta:beta=2.0:average=macro", "fbeta:average=macro:beta=2"},
           {"fbeta:average=macro:beta=2", "fbeta:average=macro:beta=2"},
           {"fbeta:beta=5e-1", "fbeta:beta=0.5"},
           {"top5:ignore_index=-100", "top5:ignore_index=-100"},
           {"cross_entropy:weight=0.2+0.80+1:label_smoothing=0.1",
            "cross_entropy:label_smoothing=0.1:weight=0.2+0.8+1"},
           {"bits_per_byte:bytes=n", "bits_per_byte:bytes=n"},
           {"accuracy:seed=3:confidence=0.90", "accuracy:confidence=0.9:seed=3"}}) {
    EXPECT_EQ(get(make_metric(given, 5))->name(), name);
    EXPECT_EQ(canonical_metric_name(given), name);
  }
  EXPECT_EQ(canonical_metric_name("no_metric:beta=2.0"), "no_metric:beta=2.0");
}

TEST(metric_settings, are_found_in_a_result_under_any_spelling) {
  const std::vector<metric_value> values = {{"fbeta:average=macro:beta=2", {real_field("value", 0.5)}}};
  EXPECT_EQ(find_metric(values, "fbeta:beta=2.0:average=macro", "result").value(), 0.5);
  EXPECT_THROW(find_metric(values, "fbeta", "result"), error_exception);
}

struct mistake {
  std::string name;
  error_code code;
  std::string where;
  std::string cause;
  std::string fix;
};

TEST(metric_settings, say_what_is_wrong_and_how_to_mend_it) {
  const auto unknown = error_code::unknown_name;
  const auto range = error_code::value_out_of_range;
  const std::vector<mistake> mistakes = {
      {"f1:averag=macro", unknown, "metric f1, option averag", "expected one of average, ignore_index",
       "write \"average\""},
      {"f1:beta=2", unknown, "metric f1, option beta", "unknown option", "use one of"},
      {"confusion_matrix:average=macro", unknown, "metric confusion_matrix, option average", "unknown option",
       "use one"},
      {"f1:", unknown, "metric f1, option ", "unknown option", "use one of"},
      {"f1:average", range, "metric f1, option average", "it has no value", "write f1:average=macro"},
      {"f1:average=mean", range, "metric f1, option average", "\"mean\", expected one of macro, micro",
       "write f1:average=macro"},
      {"f1:average=macro:average=micro", range, "metric f1, option average", "given twice", "once"},
      {"fbeta:beta=-1", range, "metric fbeta, option beta", "\"-1\", expected a number from 0 to 1e+06",
       "write fbeta:beta=2"},
      {"fbeta:beta=nan", range, "metric fbeta, option beta", "\"nan\"", "write fbeta:beta=2"},
      {"fbeta:beta=2x", range, "metric fbeta, option beta", "\"2x\"", "write fbeta:beta=2"},
      {"accuracy:ignore_index=1.5", range, "metric accuracy, option ignore_index", "a whole number",
       "write accuracy:ignore_index=-100"},
      {"nll:weight=1+", range, "metric nll, option weight", "numbers with +", "write nll:weight=0.2+0.8"},
      {"nll:weight=1+-2", range, "metric nll, option weight", "not negative", "write nll:weight=0.2+0.8"},
      {"auroc:bins=0", range, "metric auroc, option bins", "from 1 to 4096", "write auroc:bins=100"},
      {"accuracy:confidence=1", range, "metric accuracy, option confidence", "from 0.001", "accuracy:confidence=0.95"},
      {"bits_per_byte:bytes=", range, "metric bits_per_byte, option bytes", "a name", "bits_per_byte:bytes=bytes"},
      {"f1(average=macro)", unknown, "metric f1(average=macro)", "colons", "write f1:OPTION=VALUE"},
      {"fbta:beta=2", unknown, "metric fbta", "unknown metric", "\"fbeta\""},
      {"accuracy:seed=1", error_code::flags_contradict, "option seed", "none is asked for", ":confidence=0.95"},
      {"auroc:labels=3", error_code::flags_contradict, "option labels", "none are asked for", "bins=100"},
      {"auroc:bins=10:confidence=0.9", error_code::flags_contradict, "option confidence", "bins keep none", "leave"},
      {"f1:average=none:confidence=0.9", range, "metric f1:average=none", "a list", "another average"},
  };
  for (const mistake& each : mistakes) {
    const auto made = make_metric(each.name, 5);
    ASSERT_FALSE(made) << each.name;
    EXPECT_EQ(made.error().code, each.code) << each.name;
    EXPECT_THAT(made.error().where, HasSubstr(each.where)) << each.name;
    EXPECT_THAT(made.error().cause, HasSubstr(each.cause)) << each.name;
    EXPECT_THAT(made.error().fix, HasSubstr(each.fix)) << each.name;
  }
}

TEST(metric_settings, every_example_is_a_value) {
  for (const metric_kind& kind : metric_kinds) {
    const std::string name = kind.name == "topK" ? "top3" : std::string(kind.name);
    for (const metric_setting& each : metric_settings_known) {
      const std::string options = " " + std::string(kind.options) + " ";
      if (options.find(" " + std::string(each.name) + " ") == std::string::npos || each.name == "labels") continue;
      const auto made = make_metric(name + ":" + std::string(each.name) + "=" + std::string(each.example), 3);
      EXPECT_TRUE(made) << name << " " << each.name;
    }
  }
}

TEST(intervals, are_given_to_all_metrics_that_have_one) {
  for (const metric_kind& kind : metric_kinds) {
    const std::string name = kind.name == "topK" ? "top3" : std::string(kind.name);
    const auto made = make_metric(name, 3, {.confidence = 0.9, .resamples = 20});
    EXPECT_EQ(made.has_value(), kind.has_interval) << name;
    if (!made) {
      EXPECT_EQ(made.error().code, error_code::value_out_of_range);
      EXPECT_THAT(made.error().fix, HasSubstr("accuracy:confidence=0.95"));
      continue;
    }
    EXPECT_EQ((*made)->name(), name) << "the key of the result is that of the metric";
    EXPECT_GT((*made)->row_bytes(), 0U);
    const std::vector<std::uint64_t> state((*made)->words(), 0);
    const metric_value empty = (*made)->compute_total({state, {}});
    EXPECT_TRUE(std::isnan(empty.value("low"))) << name;
    EXPECT_EQ(empty.count("resamples"), 0U) << name;
  }
}

TEST(intervals, of_one_metric_override_those_of_all) {
  const metric_ptr own = get(make_metric("accuracy:confidence=0.5:resamples=12", 2, {.confidence = 0.9}));
  std::vector<std::uint64_t> state(own->words(), 0);
  std::vector<std::byte> rows;
  get(own->update_words({at::eye(2), at::tensor({0, 1}).to(at::kLong)}, state, rows));
  const metric_value value = own->compute_total({state, rows});
  EXPECT_EQ(value.value("confidence"), 0.5);
  EXPECT_EQ(value.count("resamples"), 12U);
  EXPECT_EQ(value.value("low"), 1.0) << "every resample is right";
  EXPECT_EQ(value.value("high"), 1.0);
}

/// Rows and words that no metric writes, but a peer may send.
TEST(hostile_states, crash_no_metric) {
  std::uint64_t draw = 88172645463325252;
  const auto next = [&draw] {
    draw ^= draw << 13;
    draw ^= draw >> 7;
    return draw ^= draw << 17;
  };
  for (const metric_kind& kind : metric_kinds) {
    const std::string base = kind.name == "topK" ? "top3" : std::string(kind.name);
    std::vector<std::string> names = {base};
    if (kind.has_interval) names.push_back(base + ":confidence=0.9:resamples=10");
    if (kind.options.find("bins") != std::string_view::npos) names.push_back(base + ":bins=3");
    for (const std::string& name : names) {
      const metric_ptr one = get(make_metric(name, 3));
      for (int round = 0; round < 60; ++round) {
        std::vector<std::uint64_t> words(one->words());
        std::vector<std::uint64_t> total(one->words());
        for (std::uint64_t& word : words) word = round % 3 == 0 ? next() : next() % 5;
        one->merge_words(total, words);
        std::vector<std::uint64_t> rows(one->row_bytes() == 0 ? 0 : one->row_bytes() / 8 * (next() % 40));
        const std::array<double, 8> odd = {0, 1, -1, NAN, INFINITY, 1e300, -1e300, 2};
        for (std::uint64_t& row : rows) {
          row = round % 4 == 0   ? next()
                : round % 4 == 1 ? std::bit_cast<std::uint64_t>(odd[next() % odd.size()])
                : round % 4 == 2 ? next() % 4
                                 : 1;
        }
        const metric_value value = one->compute_total({total, std::as_bytes(std::span(rows))});
        EXPECT_EQ(value.name, name);
      }
    }
  }
}

}  // namespace
}  // namespace troupe
