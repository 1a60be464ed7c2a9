// What nodes_test starts for edges between devices of two nodes: stages on late devices, with the stand-in for NCCL
// between their processes, whose memory all nodes of a test share.
//
//   late_devices DATA DEVICE
//
// Prints the sums of all metrics to the last bit. A stage fails unless its inputs came over such an edge.
#include <cstdlib>
#include <iostream>

#include <ATen/ATen.h>

#include "runtime/device/extension_device.hpp"
#include "testing/late_torch/late_torch.hpp"
#include "testing/nccl/late_device.hpp"
#include "testing/nccl/stand_in.hpp"
#include <troupe/evaluator.hpp>
#include <troupe/program.hpp>

namespace {

using namespace troupe;

void have_late_devices() {
  late::register_late_torch();
  set_extension_device({.context = [](int) { return std::make_shared<testing::late_device>(); },
                        .collectives = testing::stand_in_functions()});
}

at::Tensor arrived(const at::Tensor& x) {
  const bool is_over_nccl = testing::faults_of_stand_in().joined > 0;
  if (!x.is_cpu() && program::worker() != nullptr && !is_over_nccl) throw std::runtime_error("not over NCCL");
  return x + 1;
}

topology stages(const std::string& data, const std::string& device) {
  return topology{}
      .source("images", "mnist:" + data)
      .stage("first", [](const at::Tensor& x) { return x * 2; }, {.device = device})
      .stage("second", [](const at::Tensor& x) { return arrived(x).flatten(1).narrow(1, 200, 400); },
             {.replicas = 2, .device = device})
      .stage("last", [](const at::Tensor& x) { return arrived(x).narrow(1, 100, 10); }, {.device = device})
      .sink("scores", {"accuracy", "cross_entropy"});
}

void show(const run_result& result) {
  std::cout << std::hexfloat;
  for (const metric_value& metric : result.metrics) {
    for (const metric_value::field& field : metric.fields) {
      std::cout << metric.name << ' ' << field.name;
      for (const std::uint64_t count : field.counts) std::cout << ' ' << count;
      for (const double real : field.reals) std::cout << ' ' << real;
      std::cout << '\n';
    }
  }
  std::cout << result.delivery.folded << " folded, " << result.delivery.lost << " lost\n";
}

}  // namespace

int main(int argc, char** argv) {
  const program self(argc, argv);
  if (argc != 3) return EXIT_FAILURE;
  have_late_devices();
  const std::string device = argv[2];
  run_options options{.micro_batch = 16, .threads = 1};
  if (device != "cpu") options.workers.transport = transport_kind::nccl;
  options.workers.enabled = device != "cpu";
  evaluation_hooks hooks;
  hooks.on_progress = [](const progress_update& now) { std::cerr << now.samples_done << " samples\n"; };
  const auto result = self.run(stages(argv[1], device), options, hooks);
  if (!result) {
    std::cerr << to_string(result.error()) << '\n';
    return EXIT_FAILURE;
  }
  show(*result);
  return EXIT_SUCCESS;
}
