#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include "tests/program/random_modules/random_module.hpp"

namespace troupe::testing {
namespace {

constexpr std::int64_t drawn_samples = 6;
constexpr std::int64_t elements_max = 3000;

/// Draws one block and computes it meanwhile, because shapes decide what may follow.
class block_drawer {
 public:
  block_drawer(dice& d, const at::Tensor& input) : dice_(d), values_{input} {}

  /// False: numbers got out of hand, so that the module is drawn anew.
  bool draw() {
    const std::size_t wanted = dice_.below(6) + 1;
    for (std::size_t tries = 0; block_.steps.size() < wanted && tries < 4 * wanted; ++tries) {
      add_one();
      if (dice_.chance(50)) add_pair();
    }
    add_pair();
    return is_usable_ && !block_.steps.empty();
  }

  [[nodiscard]] const random_block& block() const { return block_; }
  [[nodiscard]] const at::Tensor& output() const { return values_.back(); }

 private:
  void add_one() {
    const std::size_t source = dice_.chance(75) ? values_.size() - 1 : dice_.below(values_.size());
    if (dice_.chance(12) && call_again(source)) return;
    std::optional<random_step> step = next_kind()(dice_, values_[source]);
    if (!step) return;
    step->inputs = {source};
    step->is_child = dice_.chance(step->parameters.empty() ? 20 : 50);
    add(std::move(*step));
  }

  /// Normalisations and constants often follow a layer with weights, as optimisers look for them there.
  step_maker next_kind() {
    const std::string last = block_.steps.empty() ? "" : block_.steps.back().kind;
    if (last.starts_with("linear") || last.starts_with("conv")) {
      if (dice_.chance(45)) return draw_batch_norm;
      if (dice_.chance(55)) return draw_constant;
    }
    return dice_.one_of<step_maker>({draw_linear, draw_linear, draw_convolution, draw_convolution, draw_convolution,
                                     draw_transposed_convolution, draw_batch_norm, draw_batch_norm, draw_layer_norm,
                                     draw_group_norm, draw_instance_norm, draw_constant, draw_constant, draw_activation,
                                     draw_activation, draw_pooling, draw_shape});
  }

  bool call_again(std::size_t source) {
    for (std::size_t index = 0; index < block_.steps.size(); ++index) {
      const random_step& first = block_.steps[index];
      if (!first.is_child || first.called_again) continue;
      random_step again = first;
      again.inputs = {source};
      again.called_again = index;
      if (add(std::move(again))) return true;
    }
    return false;
  }

  /// The last value with an earlier one of its shape: a skip.
  void add_pair() {
    std::vector<std::size_t> others;
    const std::size_t last = values_.size() - 1;
    for (std::size_t index = 0; index < last; ++index) {
      if (values_[index].sizes() == values_[last].sizes()) others.push_back(index);
    }
    if (others.empty() || dice_.chance(35)) return;
    random_step step = draw_pair(dice_, values_[last]);
    const std::size_t other = dice_.one_of(others);
    step.inputs = dice_.chance(50) ? std::vector{last, other} : std::vector{other, last};
    add(std::move(step));
  }

  bool add(random_step step) {
    tensor_list inputs;
    tensor_list parameters;
    for (const std::size_t each : step.inputs) inputs.push_back(values_[each]);
    for (const auto& [name, tensor] : step.parameters) parameters.push_back(tensor);
    at::Tensor value;
    try {
      value = step.plain(inputs, parameters);
    } catch (const std::exception&) {
      return false;  // a shape or a type that this operation does not take
    }
    if (value.dim() < 2 || value.dim() > 5 || value.size(0) != drawn_samples ||
        value.numel() > elements_max * drawn_samples || value.numel() == 0) {
      return false;
    }
    const at::Tensor largest = value.abs().max();
    is_usable_ = is_usable_ && at::isfinite(largest).item<bool>() && largest.item<double>() < 1000;
    values_.push_back(std::move(value));
    block_.steps.push_back(std::move(step));
    return true;
  }

  dice& dice_;
  tensor_list values_;
  random_block block_;
  bool is_usable_ = true;
};

at::Tensor draw_input(dice& d) {
  const at::ScalarType dtype =
      d.chance(64) ? at::kFloat : d.one_of<at::ScalarType>({at::kDouble, at::kBFloat16, at::kHalf});
  const std::int64_t dims = d.one_of<std::int64_t>({1, 2, 2, 3, 3, 3, 4, 4});
  const std::int64_t common = d.between(2, 6);
  std::vector<std::int64_t> sizes = {drawn_samples};
  for (std::int64_t dim = 0; dim < dims; ++dim) sizes.push_back(d.chance(40) ? common : d.between(2, 6));
  at::Tensor input = d.normal(sizes, 1, dtype);
  if (dims == 3 && d.chance(30)) input = input.contiguous(at::MemoryFormat::ChannelsLast);
  if (dims == 4 && d.chance(30)) input = input.contiguous(at::MemoryFormat::ChannelsLast3d);
  return input;
}

random_step flatten_step() {
  return {.kind = "flatten all",
          .code = "torch.flatten($0, 1)",
          .plain = [](const tensor_list& in, const tensor_list&) { return at::flatten(in[0], 1); },
          .inputs = {0}};
}

std::optional<random_module> try_to_draw(std::uint64_t seed, dice& d) {
  const c10::InferenceMode inference;
  random_module made{.seed = seed, .input = draw_input(d), .blocks = {}};
  at::Tensor value = made.input.clone();
  for (std::uint64_t left = d.below(3) + 1; left > 0; --left) {
    block_drawer block(d, value);
    if (!block.draw()) return std::nullopt;
    made.blocks.push_back(block.block());
    value = block.output();
  }
  made.blocks.push_back({{flatten_step()}});
  value = value.flatten(1);
  random_step last = *draw_linear(d, value);
  last.inputs = {0};
  made.blocks.push_back({{std::move(last)}});
  const at::Tensor output = plain_output(made, made.input);
  const at::Tensor exact = plain_output(made, made.input, at::kDouble);
  const at::Tensor spread = (exact - exact[0]).abs().max();
  if (spread.item<double>() < 0.02 * exact.abs().max().item<double>()) return std::nullopt;
  if (largest_difference(output, exact.to(output.scalar_type())) > tolerance_of(made.input.scalar_type()) / 4) {
    return std::nullopt;
  }
  return made;
}

}  // namespace

random_module draw_module(std::uint64_t seed) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    dice d(seed * 0x9E3779B97F4A7C15u + attempt);
    if (auto made = try_to_draw(seed, d)) return std::move(*made);
  }
}

}  // namespace troupe::testing
