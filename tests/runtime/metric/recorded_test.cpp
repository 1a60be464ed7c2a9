// Goal: every metric gives what its definition says for inputs that people have: predictions above the greatest label,
// one class, one sample, ties, NaN, infinities, classes that do not occur, half types, labels [N, 1]. Method: values of
// scikit-learn and torch in float64, recorded by recorded/record.py, which names their versions; in several cuts into
// micro-batches.
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/runtime/metric/recorded_values.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

using nlohmann::json;

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
  for (const json& one : recorded("metrics.json")["cases"]) {
    const at::Tensor outputs = rows_of(one["outputs"]).to(type_of(one["dtype"]));
    const at::Tensor labels = labels_of(one["labels"]);
    for (const std::int64_t micro_batch : {std::int64_t{1}, std::int64_t{5}, outputs.size(0)}) {
      SCOPED_TRACE(one["name"].get<std::string>() + ", micro-batch " + std::to_string(micro_batch));
      expect_case(one, outputs, labels, micro_batch);
      if (labels.dim() == 1) expect_case(one, outputs.t().contiguous().t(), labels.unsqueeze(1), micro_batch);
    }
  }
}

}  // namespace
}  // namespace troupe
