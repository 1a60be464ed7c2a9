#include "tests/runtime/metric/recorded_values.hpp"

#include <cmath>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "runtime/tensor/tensor_set.hpp"
#include "tests/support/paths.hpp"

namespace troupe {

using nlohmann::json;

const json& recorded(const std::string& file) {
  static std::map<std::string, json> all;
  json& found = all[file];
  if (found.is_null()) {
    std::ifstream text(testing::source_dir() / "tests/runtime/metric/recorded" / file);
    found = json::parse(text);
  }
  return found;
}

double number(const json& value) {
  if (value.is_number()) return value.get<double>();
  return value == "NaN" ? std::nan("") : value == "Infinity" ? INFINITY : -INFINITY;
}

at::ScalarType type_of(const json& name) {
  static const std::map<std::string, at::ScalarType> types = {
      {"float32", at::kFloat}, {"float64", at::kDouble}, {"float16", at::kHalf}, {"bfloat16", at::kBFloat16}};
  return types.at(name.get<std::string>());
}

evaluated evaluate(const std::vector<metric_ptr>& metrics, const at::Tensor& outputs, const named_tensors& labels,
                   std::int64_t micro_batch, const scored_names& names) {
  metric_scorer scorer(metrics, names);
  metric_fold fold(metrics);
  for (std::int64_t begin = 0; begin < outputs.size(0); begin += micro_batch) {
    const std::int64_t size = std::min(micro_batch, outputs.size(0) - begin);
    activation input;
    input.id = {0, 1 + static_cast<std::uint64_t>(begin)};  // unjudged: nll takes any outputs
    input.samples = {static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(begin + size)};
    std::vector<at::Tensor> tensors;
    std::vector<std::string> tensor_names;
    for (const auto& [name, tensor] : labels) {
      tensors.push_back(tensor.narrow(0, begin, size));
      tensor_names.push_back(name);
    }
    input.labels = std::make_shared<const tensor_set>(std::move(tensors), std::move(tensor_names));
    score part;
    part.id = input.id;
    get(scorer.evaluate(make_tensors(outputs.narrow(0, begin, size)), input, part));
    get(fold.fold(part));
  }
  return {get(fold.compute()), fold.odd(), fold.words()};
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

}  // namespace troupe
