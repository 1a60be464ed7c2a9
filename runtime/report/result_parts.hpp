#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <troupe/error.hpp>
#include <troupe/result.hpp>

namespace troupe {

/// Turns doubles into JSON and keeps note of those that JSON cannot say.
class number_writer {
 public:
  nlohmann::ordered_json operator()(double value, const std::string& name);
  [[nodiscard]] std::vector<std::string> take_warnings() { return std::move(warnings_); }

 private:
  std::vector<std::string> warnings_;
};

// What several documents have in common, as docs/result.md describes it. `place` stands before the names in warnings.
nlohmann::ordered_json metrics_json(const std::vector<metric_value>& metrics, number_writer& number,
                                    const std::string& place = "metrics");
nlohmann::ordered_json stages_json(const std::vector<stage_report>& stages, number_writer& number);
nlohmann::ordered_json faults_json(const std::vector<fault_report>& faults);
nlohmann::ordered_json errors_json(const std::vector<error>& errors);
nlohmann::ordered_json in_seconds(std::chrono::nanoseconds time);

}  // namespace troupe
