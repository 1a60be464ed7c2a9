#include "bench_model.hpp"

#include <torch/torch.h>

#include "tests/support/paths.hpp"
#include <troupe/data_set.hpp>

namespace troupe::bench {
namespace {

constexpr std::uint64_t micro_batches_kept = 64;

at::Tensor relu(const at::Tensor& x) {
  return torch::relu(x);
}

torch::nn::Conv2d conv3(std::int64_t from, std::int64_t to, std::int64_t stride) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(from, to, 3).stride(stride).padding(1).bias(false));
}

/// ResNet's for CIFAR-10, whose shortcut drops every second pixel and adds channels of zeros.
struct basic_block : torch::nn::Module {
  basic_block(std::int64_t from, std::int64_t to, std::int64_t stride_between)
      : stride(stride_between),
        padding((to - from) / 2),
        conv1(register_module("conv1", conv3(from, to, stride))),
        bn1(register_module("bn1", torch::nn::BatchNorm2d(to))),
        conv2(register_module("conv2", conv3(to, to, 1))),
        bn2(register_module("bn2", torch::nn::BatchNorm2d(to))) {}

  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor made = bn2(conv2(torch::relu(bn1(conv1(x)))));
    if (stride == 1) return torch::relu(made + x);
    using at::indexing::Slice;
    const at::Tensor half = x.index({Slice(), Slice(), Slice(0, {}, 2), Slice(0, {}, 2)});
    return torch::relu(made + torch::constant_pad_nd(half, {0, 0, 0, 0, padding, padding}));
  }

  std::int64_t stride;
  std::int64_t padding;
  torch::nn::Conv2d conv1;
  torch::nn::BatchNorm2d bn1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d bn2;
};

std::vector<layer_spec> lenet() {
  const auto pool = [](const at::Tensor& x) { return torch::max_pool2d(torch::relu(x), 2); };
  return {layer_spec("Conv2d", [] { return torch::nn::Conv2d(1, 10, 5); }),
          layer_spec::function("Pool", pool),
          layer_spec("Conv2d", [] { return torch::nn::Conv2d(10, 20, 5); }),
          layer_spec::function("Pool", pool),
          layer_spec::function("Flatten", [](const at::Tensor& x) { return x.flatten(1); }),
          layer_spec("Linear", [] { return torch::nn::Linear(320, 50); }),
          layer_spec::function("ReLU", relu),
          layer_spec("Linear", [] { return torch::nn::Linear(50, 10); })};
}

std::vector<layer_spec> resnet20() {
  std::vector<layer_spec> layers = {layer_spec("Conv2d", [] { return conv3(3, 16, 1); }),
                                    layer_spec("BatchNorm2d", [] { return torch::nn::BatchNorm2d(16); }),
                                    layer_spec::function("ReLU", relu)};
  for (int block = 0; block < 9; ++block) {
    const std::int64_t to = 16 << block / 3;
    const bool is_wider = block == 3 || block == 6;
    layers.push_back(layer_spec("Block", [from = is_wider ? to / 2 : to, to, stride = is_wider ? 2 : 1] {
      return std::make_shared<basic_block>(from, to, stride);
    }));
  }
  layers.push_back(layer_spec::function("Mean", [](const at::Tensor& x) { return x.mean({2, 3}); }));
  layers.push_back(layer_spec("Linear", [] { return torch::nn::Linear(64, 10); }));
  return layers;
}

std::vector<layer_spec> mlp256() {
  std::vector<layer_spec> layers;
  for (int layer = 0; layer < 8; ++layer) {
    if (layer > 0) layers.push_back(layer_spec::function("ReLU", relu));
    layers.push_back(layer_spec("Linear", [] { return torch::nn::Linear(256, 256); }));
  }
  return layers;
}

void take_samples(bench_model& into, const std::string& set, std::uint64_t micro_batch) {
  const data_set_ptr data = get(open_data(set));
  std::uint64_t at = 0;
  for (std::uint64_t index = 0; index < micro_batches_kept; ++index, at += micro_batch) {
    if (at + micro_batch > data->size()) at = 0;
    const sample_block block = get(data->read({at, at + micro_batch}));
    into.inputs.push_back(block.inputs.only());
    into.labels.push_back(block.labels.only());
  }
}

void draw_samples(bench_model& into, std::int64_t micro_batch, std::int64_t features) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(bench_seed);
  for (std::uint64_t index = 0; index < micro_batches_kept; ++index) {
    into.inputs.push_back(at::randn({micro_batch, features}, generator));
    into.labels.push_back(at::randint(features, {micro_batch}, generator, at::kLong));
  }
}

}  // namespace

const std::vector<std::string>& bench_model_names() {
  static const std::vector<std::string> names = {"lenet", "resnet20", "mlp256"};
  return names;
}

bench_model make_bench_model(const std::string& name) {
  const std::filesystem::path data = testing::data_dir();
  if (name == "lenet") {
    bench_model made{.name = name, .layers = lenet(), .boundaries = {0, 2, 8}, .inputs = {}, .labels = {}};
    take_samples(made, "mnist:" + (data / "mnist").string(), 64);
    return made;
  }
  if (name == "resnet20") {
    bench_model made{.name = name, .layers = resnet20(), .boundaries = {0, 7, 14}, .inputs = {}, .labels = {}};
    take_samples(made, "cifar10:" + (data / "cifar10/test_batch_1000.bin").string(), 16);
    return made;
  }
  bench_model made{.name = "mlp256", .layers = mlp256(), .boundaries = {0, 8, 15}, .inputs = {}, .labels = {}};
  draw_samples(made, 64, 256);
  return made;
}

std::vector<built_layer> built_as_in_engine(const bench_model& model, std::size_t begin, std::size_t end) {
  std::vector<built_layer> built =
      get(build_layers(model.layers, begin, end, [](std::size_t index) { torch::manual_seed(bench_seed + index); }));
  for (const built_layer& each : built) {
    if (each.train) each.train(true);
  }
  return built;
}

}  // namespace troupe::bench
