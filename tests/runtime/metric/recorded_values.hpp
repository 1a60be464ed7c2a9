#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/metric/metric_fold.hpp"
#include "runtime/metric/metric_scorer.hpp"
#include <troupe/metric.hpp>

namespace troupe {

/// A file of tests/runtime/metric/recorded.
const nlohmann::json& recorded(const std::string& file);
/// Its numbers, of which NaN and infinities are texts.
double number(const nlohmann::json& value);
at::ScalarType type_of(const nlohmann::json& name);

struct evaluated {
  std::vector<metric_value> values;
  odd_samples odd;
  /// What the metrics kept before their values were computed.
  std::vector<std::uint64_t> words;
};

/// Unjudged, in micro-batches of this size.
evaluated evaluate(const std::vector<metric_ptr>& metrics, const at::Tensor& outputs, const named_tensors& labels,
                   std::int64_t micro_batch, const scored_names& names = {});

void expect_equal(double found, double wanted, const std::string& what);
/// `wanted` is a number, a count, or a list of one of them.
void expect_field(const metric_value& metric, const std::string& name, const nlohmann::json& wanted);

}  // namespace troupe
