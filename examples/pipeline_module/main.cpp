// DeepSpeed's way to describe a model: layers that are built when the pipeline starts, two of them tied, cut into
// stages.
#include <iostream>

#include <torch/torch.h>

#include <troupe/troupe.hpp>

namespace {

constexpr std::int64_t pixels = 784;
constexpr std::int64_t code = 10;

/// Weights that do not depend on a generator.
torch::nn::Linear projection() {
  torch::nn::Linear made(torch::nn::LinearOptions(pixels, code).bias(false));
  const torch::NoGradGuard no_grad;
  made->weight.copy_(torch::arange(pixels * code).reshape({code, pixels}).mul(0.37).cos().div(28));
  return made;
}

/// The transpose of the same weights, at another place.
at::Tensor backwards(torch::nn::Linear& module, const at::Tensor& input) {
  return torch::matmul(input, module->weight);
}

/// Mean squared distance between what came out and the digit itself: labels are the inputs here.
std::vector<at::Tensor> distance(const at::Tensor& outputs, const at::Tensor& digits) {
  return {torch::mse_loss(outputs, digits)};
}

/// An autoencoder with tied weights: image -> 10 numbers -> image.
troupe::pipeline_module autoencoder() {
  using troupe::layer_spec;
  using troupe::tied_layer_spec;
  return {.layers = {layer_spec::function("Flatten", [](const at::Tensor& x) { return x.flatten(1); }),
                     tied_layer_spec("weights", "Linear", projection),
                     layer_spec::function("ReLU", [](const at::Tensor& x) { return torch::relu(x); }),
                     layer_spec("LayerNorm", [] { return torch::nn::LayerNorm(torch::nn::LayerNormOptions({code})); }),
                     tied_layer_spec("weights", "Linear^T", projection, backwards),
                     layer_spec::function("Sigmoid", [](const at::Tensor& x) { return torch::sigmoid(x); })},
          .num_stages = 2,
          .loss_fn = distance};
}

at::Tensor plain(const at::Tensor& digits) {
  const torch::NoGradGuard no_grad;
  const torch::nn::Linear weights = projection();
  at::Tensor value = torch::relu(torch::matmul(digits.flatten(1), weights->weight.t()));
  value = torch::layer_norm(value, {code});
  return torch::mse_loss(torch::sigmoid(torch::matmul(value, weights->weight)), digits.flatten(1));
}

}  // namespace

int main(int argc, char** argv) try {
  const auto data = troupe::get(troupe::open_data(std::string("mnist:") + (argc > 1 ? argv[1] : "data") + "/mnist"));
  const troupe::pipeline_module module = autoencoder();
  const auto engine = troupe::get(troupe::pipeline_engine::create(module));
  std::cout << module.layers.size() << " layers in " << engine->num_stages() << " stages, tied: " << pixels << " -> "
            << code << " -> " << pixels << '\n';

  std::uint64_t next = 0;
  const auto digits = [&]() -> std::optional<troupe::batch> {
    const at::Tensor images = troupe::get(data->read({next, next + 100})).inputs.only();
    next += 100;
    return troupe::batch{images, images.flatten(1)};
  };
  const auto output =
      troupe::get(engine->eval_batch(digits, {.reduce_output = troupe::reduction::none, .num_micro_batches = 8}));
  for (std::size_t index = 0; index < output.losses.size(); ++index) {
    const double wanted = plain(troupe::get(data->read({index * 100, index * 100 + 100})).inputs.only()).item<double>();
    std::cout << "micro-batch " << index << ": " << output.losses[index].at(0) << '\n';
    if (std::abs(output.losses[index].at(0) - wanted) > 1e-6) return 1;
  }
  std::cout << "every mean equals the plain loop's\n";
  return 0;
} catch (const troupe::error_exception& e) {
  std::cerr << e.what() << '\n';
  return static_cast<int>(troupe::status_of(e.details().code));
}
