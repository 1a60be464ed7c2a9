// Goal: every metric gives what its definition says for inputs that people have: predictions above the greatest label,
// one class, one sample, ties, NaN, infinities, classes that do not occur, half types, labels [N, 1]. Method: values of
// scikit-learn and torch in float64, recorded by recorded/record.py, which names their versions; in several cuts into
// micro-batches.
#include <bit>
#include <cmath>
#include <fstream>
#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/metric/metric_fold.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include "runtime/tensor/tensor_set.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using nlohmann::json;

double number(const json& value) {
  if (value.is_number()) return value.get<double>();
  return value == "NaN" ? std::nan("") : value == "Infinity" ? INFINITY : -INFINITY;
}

at::ScalarType type_of(const json& name) {
  static const std::map<std::string, at::ScalarType> types = {
      {"float32", at::kFloat}, {"float64", at::kDouble}, {"float16", at::kHalf}, {"bfloat16", at::kBFloat16}};
  return types.at(name.get<std::string>());
}

/// Rows of numbers in double; they are exact in the type that the case names.
at::Tensor rows_of(const json& rows) {
  at::Tensor made =
      at::empty({static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())}, at::kDouble);
  double* next = made.data_ptr<double>();
  for (const json& row : rows) {
    for (const json& each : row) *next++ = number(each);
  }
  return made;
}

at::Tensor labels_of(const json& labels) {
  if (labels[0].is_array()) {
    const at::Tensor rows = rows_of(labels);
    return labels[0][0].is_number_integer() ? rows.to(at::kLong) : rows.to(at::kFloat);
  }
  return at::tensor(labels.get<std::vector<std::int64_t>>(), at::kLong);
}

const json& recorded() {
  static const json all = [] {
    std::ifstream file(testing::source_dir() / "tests/runtime/metric/recorded/metrics.json");
    return json::parse(file);
  }();
  return all;
}

struct evaluated {
  std::vector<metric_value> values;
  odd_samples odd;
};

evaluated evaluate(const std::vector<metric_ptr>& metrics, const at::Tensor& outputs, const at::Tensor& labels,
                   std::int64_t micro_batch) {
  metric_scorer scorer(metrics);
  metric_fold fold(metrics);
  for (std::int64_t begin = 0; begin < outputs.size(0); begin += micro_batch) {
    const std::int64_t size = std::min(micro_batch, outputs.size(0) - begin);
    activation input;
    input.id = {0, 1 + static_cast<std::uint64_t>(begin)};  // unjudged: nll takes any outputs
    input.samples = {static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(begin + size)};
    input.labels = make_tensors(labels.narrow(0, begin, size));
    score part;
    part.id = input.id;
    get(scorer.evaluate(make_tensors(outputs.narrow(0, begin, size)), input, part));
    get(fold.fold(part));
  }
  return {get(fold.compute()), fold.odd()};
}

void expect_equal(double found, double wanted, const std::string& what) {
  if (std::isnan(wanted) || std::isinf(wanted)) {
    EXPECT_EQ(std::isnan(found), std::isnan(wanted)) << what << " is " << found;
    if (std::isinf(wanted)) EXPECT_EQ(found, wanted) << what;
  } else {
    EXPECT_NEAR(found, wanted, 1e-12 * (1 + std::abs(wanted))) << what;
  }
}

void expect_field(const metric_value& metric, const std::string& name, const json& wanted) {
  const std::string what = metric.name + "." + name;
  if (wanted.is_array() && (wanted.empty() || wanted[0].is_number_integer())) {
    EXPECT_EQ(metric.counts(name), wanted.get<std::vector<std::uint64_t>>()) << what;
  } else if (wanted.is_array()) {
    const std::vector<double> column = metric.column(name);
    ASSERT_EQ(column.size(), wanted.size()) << what;
    for (std::size_t i = 0; i < column.size(); ++i) {
      expect_equal(column[i], number(wanted[i]), what + "[" + std::to_string(i) + "]");
    }
  } else if (wanted.is_number_integer()) {
    EXPECT_EQ(metric.count(name), wanted.get<std::uint64_t>()) << what;
  } else {
    expect_equal(metric.value(name), number(wanted), what);
  }
}

/// A loss by itself, as a sum has NaN of any of them.
void expect_losses(const metric_ptr& metric, const at::Tensor& outputs, const at::Tensor& labels, const json& wanted) {
  for (std::int64_t i = 0; i < outputs.size(0); ++i) {
    const evaluated one = evaluate({metric}, outputs.narrow(0, i, 1), labels.narrow(0, i, 1), 1);
    expect_equal(one.values.front().value("sum"), number(wanted[static_cast<std::size_t>(i)]),
                 metric->name() + " of sample " + std::to_string(i));
  }
}

void expect_case(const json& one, const at::Tensor& outputs, const at::Tensor& labels, std::int64_t micro_batch) {
  std::vector<metric_ptr> metrics;
  for (const auto& [name, fields] : one["metrics"].items()) {
    metrics.push_back(get(make_metric(name, one["classes"].get<std::uint32_t>())));
  }
  const evaluated found = evaluate(metrics, outputs, labels, micro_batch);
  EXPECT_EQ(found.odd.with_nan, one["samples_with_nan"].get<std::uint64_t>());
  EXPECT_EQ(found.odd.with_infinity, one["samples_with_infinity"].get<std::uint64_t>());
  for (std::size_t m = 0; m < metrics.size(); ++m) {
    for (const auto& [field, wanted] : one["metrics"][metrics[m]->name()].items()) {
      if (field == "of_each_sample") {
        expect_losses(metrics[m], outputs, labels, wanted);
      } else {
        expect_field(found.values[m], field, wanted);
      }
    }
  }
}

TEST(recorded, every_metric_equals_its_definition) {
  std::map<std::string, int> tried;
  for (const json& one : recorded()["cases"]) {
    const at::Tensor outputs = rows_of(one["outputs"]).to(type_of(one["dtype"]));
    const at::Tensor labels = labels_of(one["labels"]);
    for (const std::int64_t micro_batch : {std::int64_t{1}, std::int64_t{5}, outputs.size(0)}) {
      SCOPED_TRACE(one["name"].get<std::string>() + ", micro-batch " + std::to_string(micro_batch));
      expect_case(one, outputs, labels, micro_batch);
      if (labels.dim() == 1) expect_case(one, outputs.t().contiguous().t(), labels.unsqueeze(1), micro_batch);
    }
    for (const auto& [name, fields] : one["metrics"].items()) ++tried[name.starts_with("top") ? "topK" : name];
  }
  for (const std::string& name : metric_names()) EXPECT_GE(tried[name], 8) << name << " is recorded";
}

}  // namespace
}  // namespace troupe
