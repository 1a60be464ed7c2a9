#pragma once

#include <string>
#include <vector>

#include <troupe/metric.hpp>

namespace troupe::testing {

/// Runs a TorchScript model over a data set with our source, scorer and fold, and with nothing else of Troupe.
std::vector<metric_value> evaluate_model(const std::string& model, const std::string& data, std::uint64_t micro_batch,
                                         const std::vector<std::string>& metrics);

const metric_value::field& field_of(const std::vector<metric_value>& values, const std::string& metric,
                                    const std::string& field);

}  // namespace troupe::testing
