#include "runtime/architecture/rotary.hpp"

#include <numbers>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/where.h>
#include <c10/core/Device.h>

namespace troupe {
namespace {

/// "rope_scaling.factor" of old files, "rope_parameters.factor" of new ones.
std::string rope_key(const config_reader& config, const std::string& name) {
  return (config.has("rope_parameters") ? "rope_parameters." : "rope_scaling.") + name;
}

double positive(config_reader& config, const std::string& key, std::optional<double> otherwise = std::nullopt) {
  const double value = config.number(key, otherwise);
  if (value > 0) return value;
  config.refuse(key, "it is not above 0");
  return 1;
}

/// Llama 3.1: slow turns are slowed down more, with a smooth change between two wavelengths.
at::Tensor llama3_scaled(config_reader& config, const at::Tensor& plain) {
  const double factor = positive(config, rope_key(config, "factor"));
  const double low = positive(config, rope_key(config, "low_freq_factor"));
  const double high = positive(config, rope_key(config, "high_freq_factor"));
  const double context = positive(config, rope_key(config, "original_max_position_embeddings"));
  const at::Tensor length = 2 * std::numbers::pi / plain;
  const at::Tensor is_slow = length > context / low;
  const at::Tensor scaled = at::where(is_slow, plain / factor, plain);
  const at::Tensor share = (context / length - low) / (high - low);
  const at::Tensor between = (1 - share) * scaled / factor + share * scaled;
  return at::where(is_slow.logical_or(length < context / high), scaled, between);
}

}  // namespace

at::Tensor rotary_frequencies(config_reader& config, std::int64_t size) {
  const std::string new_theta = "rope_parameters.rope_theta";
  const double base = positive(config, config.has(new_theta) ? new_theta : "rope_theta", 10000.0);
  const std::string by_old_name = rope_key(config, "type");
  const std::string type =
      config.choice(config.has(rope_key(config, "rope_type")) ? rope_key(config, "rope_type") : by_old_name,
                    {"default", "linear", "llama3"}, "default");
  if (config.number("partial_rotary_factor", 1.0) != 1.0) config.refuse("partial_rotary_factor", "only 1 is supported");
  const at::Tensor exponents = at::arange(0, size, 2, at::kFloat) / size;
  const at::Tensor plain = 1 / at::pow(base, exponents);
  if (type == "linear") return plain / positive(config, rope_key(config, "factor"));
  return type == "llama3" ? llama3_scaled(config, plain) : plain;
}

rotary_values rotary_embedding(network& net, tensor_value x, const at::Tensor& frequencies) {
  const std::vector<torch::jit::NamedValue> kind{{"dtype", static_cast<std::int64_t>(c10::kFloat)},
                                                 {"device", c10::Device(c10::kCPU)}};
  tensor_value const positions = net.call("arange", {net.call("size", {x, 1})}, kind);
  tensor_value const angles = net.call("mul", {net.call("unsqueeze", {positions, 1}), net.constant(frequencies)});
  return {.cosine = net.call("type_as", {net.call("cos", {angles}), x}),
          .sine = net.call("type_as", {net.call("sin", {angles}), x})};
}

tensor_value rotate(network& net, tensor_value x, const rotary_values& by, std::int64_t size) {
  const std::int64_t half = size / 2;
  tensor_value const first = net.call("narrow", {x, -1, 0, half});
  tensor_value const second = net.call("narrow", {x, -1, half, half});
  const auto times = [&](tensor_value one, tensor_value other) { return net.call("mul", {one, other}); };
  tensor_value const turned = net.call("sub", {times(first, by.cosine), times(second, by.sine)});
  tensor_value const along = net.call("add", {times(second, by.cosine), times(first, by.sine)});
  return net.call("cat", {net.list({turned, along}), -1});
}

}  // namespace troupe
