#include "workload.hpp"

#include <algorithm>
#include <cmath>

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/jit/serialization/import.h>

#include "messages/check.hpp"
#include "messages/try.hpp"
#include "random_set.hpp"
#include "tests/support/paths.hpp"

namespace troupe::bench {
namespace {

constexpr std::int64_t mlp_layers = 8;

struct recipe {
  std::string partition;
  std::vector<std::string> metrics;
  std::vector<std::uint64_t> micro_batches;
  bool even = false;
};

/// Weights of one layer that fit a core's L2 (0.25 MiB), of all layers that fit a shared L3 (8 MiB), and that fill it
/// (32 MiB).
struct mlp {
  std::string name;
  std::int64_t features;
  std::vector<std::uint64_t> micro_batches;
};

const mlp& mlp_named(const std::string& name) {
  static const std::vector<mlp> all = {{"mlp256", 256, {1, 8, 64}}, {"mlp512", 512, {64}}, {"mlp1024", 1024, {8, 64}}};
  const auto found = std::ranges::find(all, name, &mlp::name);
  TROUPE_CHECK(found != all.end(), "a model is asked for by one of model_names()");
  return *found;
}

torch::jit::Module linear(const std::string& type, std::int64_t features) {
  torch::jit::Module module(type);
  // Keeps the values' variance, so that no layer computes with denormals or infinities.
  const double scale = 1 / std::sqrt(static_cast<double>(features));
  module.register_parameter("weight", at::randn({features, features}) * scale, false);
  module.register_parameter("bias", at::randn({features}) * scale, false);
  module.define("def forward(self, x):\n  return torch.linear(x, self.weight, self.bias)\n");
  return module;
}

torch::jit::Module make_mlp(const std::string& name, std::int64_t features) {
  torch::jit::Module whole(name);
  std::string forward = "def forward(self, x):\n";
  for (std::int64_t index = 0; index < mlp_layers; ++index) {
    const std::string child = "linear" + std::to_string(index);
    whole.register_module(child, linear(name + "_" + child, features));
    forward += "  x = self." + child + ".forward(x)\n";
  }
  whole.define(forward + "  return x\n");
  return whole;
}

expected<std::vector<workload>> expand(const std::string& name, expected<data_set_ptr> data, const recipe& how) {
  if (!data) return tl::make_unexpected(data.error());
  const torch::jit::Module module = make_bench_module(name);
  auto network = TROUPE_TRY(make_model(module, name));
  auto code = std::make_shared<layered_model>(network.graph(), layer_unit::modules);
  code->optimize(false);
  workload one{.model = name,
               .module = module,
               .network = std::move(network),
               .code = std::move(code),
               .data = std::move(*data),
               .metric_names = how.metrics,
               .metrics = {},
               .partition = how.partition,
               .even = how.even};
  for (const std::string& metric : how.metrics) {
    auto made = TROUPE_TRY(make_metric(metric, one.data->classes()));
    one.metrics.push_back(std::move(made));
  }
  std::vector<workload> made;
  for (const std::uint64_t micro_batch : how.micro_batches) {
    one.micro_batch = micro_batch;
    made.push_back(one);
  }
  return made;
}

}  // namespace

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names = {"lenet", "resnet20", "mlp256", "mlp512", "mlp1024"};
  return names;
}

torch::jit::Module make_bench_module(const std::string& model) {
  const std::filesystem::path data = testing::data_dir();
  if (model == "lenet") return torch::jit::load((data / "mnist/lenet.pt").string());
  if (model == "resnet20") return torch::jit::load((data / "cifar10/resnet20.pt").string());
  at::manual_seed(0);
  return make_mlp(model, mlp_named(model).features);
}

expected<std::vector<workload>> make_workloads(const std::string& model) {
  const std::filesystem::path data = testing::data_dir();
  if (model == "lenet") {
    return expand(model, open_data("mnist:" + (data / "mnist").string()), {"profile", {"accuracy", "nll"}, {64, 256}});
  }
  if (model == "resnet20") {
    return expand(model, open_data("cifar10:" + (data / "cifar10/test_batch_1000.bin").string()),
                  {"profile", {"accuracy", "cross_entropy"}, {8, 64}});
  }
  // Accuracy alone: a cross-entropy over as many classes as features would weigh on the last stage.
  const mlp& one = mlp_named(model);
  return expand(model, make_random_set(one.features), {"uniform", {"accuracy"}, one.micro_batches, true});
}

}  // namespace troupe::bench
