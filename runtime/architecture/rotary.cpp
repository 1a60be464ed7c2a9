#include "runtime/architecture/rotary.hpp"

#include <numbers>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/where.h>
#include <c10/core/Device.h>

namespace troupe {
namespace {

/// The object of the configuration: transformers 4 reads rope_scaling, and transformers 5 writes rope_parameters.
std::string rope_object(const config_reader& config) {
  return config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
}

std::string rope_key(const config_reader& config, const std::string& name) {
  return rope_object(config) + "." + name;
}

double positive(config_reader& config, const std::string& key, std::optional<double> otherwise = std::nullopt) {
  const double value = config.number(key, otherwise);
  if (value > 0) return value;
  config.refuse(key, "it is not above 0");
  return 1;
}

/// "type" is the older name. Files of some versions have both, and the versions differ in which one counts.
std::string rope_type(config_reader& config) {
  const std::vector<std::string> types{"default", "linear", "llama3"};
  const std::string key = rope_key(config, "rope_type");
  const std::string old_key = rope_key(config, "type");
  if (!config.has(key) && !config.has(old_key) && config.has(rope_key(config, "factor")))
    config.refuse(key, "it is missing, and factor is there");
  const std::string type = config.choice(config.has(key) ? key : old_key, types, "default");
  if (config.choice(old_key, types, type) != type) config.refuse(old_key, "rope_type has another value");
  return type;
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
  if (config.has("rope_parameters") && config.has("rope_scaling"))
    config.refuse("rope_scaling", "rope_parameters is there, too");
  config.refuse_members_but(rope_object(config),
                            {"rope_type", "type", "rope_theta", "partial_rotary_factor", "factor", "low_freq_factor",
                             "high_freq_factor", "original_max_position_embeddings"});
  for (const std::string& key : {std::string("partial_rotary_factor"), rope_key(config, "partial_rotary_factor")}) {
    if (config.number(key, 1.0) != 1.0) config.refuse(key, "only 1 is supported");
  }
  const std::string theta = rope_key(config, "rope_theta");
  const double base = positive(config, config.has(theta) ? theta : "rope_theta", 10000.0);
  const std::string type = rope_type(config);
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
