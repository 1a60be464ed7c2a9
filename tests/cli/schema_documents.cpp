// For schema_test.py: results that `troupe eval` alone does not give, each as one JSON text on a line of its own. Runs
// of topologies with two sinks and with a stage in code, and a result that has all that is there only at times.
#include <cmath>
#include <iostream>

#include <nlohmann/json.hpp>

#include <troupe/evaluator.hpp>
#include <troupe/result.hpp>
#include <troupe/topology.hpp>

namespace {

troupe::run_result with_two_sinks(const std::string& data) {
  return troupe::get(troupe::run(troupe::topology{}
                                     .source("digits", "mnist:" + data + "/mnist")
                                     .pipeline("net", data + "/mnist/lenet.pt", {.stages = 2})
                                     .sink("metrics", {"accuracy"})
                                     .sink("more", {"nll", "f1"}),
                                 {.limit = 200}));
}

/// Metrics of one number for each sample.
troupe::run_result with_numbers(const std::string& data) {
  const auto brightness = [](const at::Tensor& pictures) { return pictures.flatten(1).mean(1); };
  return troupe::get(troupe::run(troupe::topology{}
                                     .source("digits", "mnist:" + data + "/mnist")
                                     .stage("brightness", brightness)
                                     .sink("metrics", {"r2", "pearson", "spearman"}),
                                 {.limit = 200}));
}

troupe::run_result with_all(troupe::run_result result) {
  result.left_out = 1;
  result.warnings = {"it draws random numbers"};
  result.plain_pipelines = {"net"};
  result.faults.push_back({.fault = "kill:stage=net.1,at=mb3", .note = "its stage has no process"});
  result.metrics.push_back({.name = "of_the_user", .fields = {troupe::real_list("value", {1, std::nan("")})}});
  result.samples_per_second = INFINITY;
  result.partial = true;
  result.errors.push_back({troupe::error_code::interrupted, "run", "was interrupted", "start it again"});
  return result;
}

void print(const troupe::run_result& result) {
  std::cout << nlohmann::ordered_json::parse(troupe::result_json(result).text).dump() << '\n';
}

}  // namespace

int main(int /*count*/, char** arguments) {
  const troupe::run_result result = with_two_sinks(arguments[1]);
  print(result);
  print(with_numbers(arguments[1]));
  print(with_all(result));
}
