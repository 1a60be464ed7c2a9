#include "tests/runtime/rewrite/random_graph.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <ATen/ATen.h>
#include <torch/csrc/jit/ir/constants.h>

#include "runtime/model/output_difference.hpp"
#include "tests/runtime/rewrite/graph_builder.hpp"

namespace troupe::testing {
namespace {

using torch::jit::Node;
using torch::jit::Value;
using sizes = std::vector<std::int64_t>;

class drawing {
 public:
  explicit drawing(std::uint64_t seed) : engine_(seed) { at::manual_seed(seed); }

  random_graph draw() {
    const bool is_image = chance(65);
    side_ = one_of({4, 5, 6});
    const std::int64_t channels = chance(40) ? side_ : one_of({1, 3, 4, 8});
    const sizes shape = is_image     ? sizes{2, channels, side_, side_}
                        : chance(70) ? sizes{3, channels}
                                     : sizes{2, side_, channels};
    random_graph made;
    for (const std::int64_t batch : {shape[0], shape[0] + 3}) made.inputs.push_back(one_input(shape, batch));
    values_ = {builder_.input(made.inputs[0])};
    for (std::int64_t step = between(3, 14); step > 0; --step) add_step();
    builder_.output(values_.back());
    for (std::int64_t more = between(0, 2); more > 0; --more) builder_.output(values_[below(values_.size())]);
    made.graph = builder_.graph();
    return made;
  }

 private:
  std::uint64_t below(std::uint64_t count) { return engine_() % count; }
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last - first + 1)));
  }
  bool chance(std::uint64_t percent) { return below(100) < percent; }
  std::int64_t one_of(const sizes& from) { return from[below(from.size())]; }

  at::Tensor one_input(sizes shape, std::int64_t batch) {
    shape[0] = batch;
    if (shape.size() != 4) return at::randn(shape);
    switch (order_ == 0 ? order_ = between(1, 5) : order_) {
      case 1:
        return at::randn(shape).contiguous(at::MemoryFormat::ChannelsLast);
      case 2:
        return at::randn({shape[0], shape[1], shape[2], 2 * shape[3]}).slice(3, 0, 2 * shape[3], 2);
      default:
        return at::randn(shape);
    }
  }

  /// Most often the last value; now and then an earlier one.
  Value* pick() { return chance(85) ? values_.back() : values_[below(values_.size())]; }
  sizes shape_of(const Value* value) const { return builder_.sample(value).sizes().vec(); }
  Value* constant(const c10::IValue& value) { return builder_.constant(value); }
  void keep(Value* value) { values_.push_back(value); }

  void add_step() {
    Value* const x = pick();
    const sizes shape = shape_of(x);
    if (shape.size() == 4 && chance(70)) return add_image_step(x, shape);
    switch (below(10)) {
      case 0:
      case 1:
        return shape.size() >= 2 ? add_linear(x, shape) : add_activation(x);
      case 2:
        return add_normalisation(x, shape);
      case 3:
      case 4:
        return add_constant(x, shape);
      case 5:
        return add_sum(x, shape);
      case 6:
        return add_view(x, shape);
      case 7:
        return keep(builder_.add(chance(50) ? "aten::dropout" : "aten::dropout_", {x, 0.5, false}));
      case 8:
        return keep(builder_.add(chance(50) ? "aten::detach" : "aten::alias", {x}));
      default:
        return add_activation(x);
    }
  }

  void add_image_step(Value* x, const sizes& shape) {
    switch (below(13)) {
      case 10:
      case 11:
      case 12:
        return add_residual_block(x, shape);
      case 0:
      case 1:
      case 2:
      case 3:
        return add_convolution_step(x, shape);
      case 4:
        return add_normalisation(x, shape);
      case 5:
      case 6:
        return add_sum(x, shape);
      case 7:
        return add_pooling(x, shape);
      case 8:
        return add_padded_slice(x, shape);
      default:
        return add_activation(x);
    }
  }

  void add_convolution_step(Value* x, const sizes& shape) {
    const std::int64_t channels = shape[1];
    const std::int64_t groups = chance(25) ? channels : 1;
    const std::int64_t outputs = groups > 1 ? groups * one_of({1, 2}) : chance(60) ? channels : one_of({3, side_, 8});
    const bool is_transposed = chance(groups > 1 ? 40 : 15);
    const std::int64_t kernel = is_transposed ? 3 : one_of({1, 3, 3});
    const double deviation = 1 / std::sqrt(static_cast<double>(channels / groups * kernel * kernel));
    const sizes weight_sizes = is_transposed ? sizes{channels, outputs / groups, kernel, kernel}
                                             : sizes{outputs, channels / groups, kernel, kernel};
    Value* const weight = constant(at::randn(weight_sizes) * deviation);
    Value* const bias = chance(60) ? constant(at::randn({outputs})) : constant(c10::IValue());
    Value* const stride = constant(sizes(2, chance(80) ? 1 : 2));
    Value* const padding = constant(sizes(2, kernel / 2));
    Value* const one = constant(sizes{1, 1});
    Value* const zero = constant(sizes{0, 0});
    if (is_transposed || chance(40)) {
      keep(builder_.add("aten::_convolution", {x, weight, bias, stride, padding, one, is_transposed, zero, groups,
                                               false, false, true, true}));
    } else {
      keep(builder_.add("aten::conv2d", {x, weight, bias, stride, padding, one, groups}));
    }
    if (chance(40)) add_normalisation(values_.back(), shape_of(values_.back()));
    if (chance(30)) add_constant(values_.back(), shape_of(values_.back()));
    if (chance(30)) add_activation(values_.back());
  }

  /// A block of a ResNet, some with an addition in place, a convolution on the skip, or something between.
  void add_residual_block(Value* x, const sizes& shape) {
    const std::int64_t channels = shape[1];
    Value* y = add_convolution(builder_, x, channels, channels);
    if (chance(60)) y = add_batch_norm(builder_, y, channels);
    keep(builder_.add(chance(50) ? "aten::relu" : "aten::relu_", {y}));
    if (chance(15)) add_step();
    if (shape_of(values_.back()) != shape) return;
    y = add_convolution(builder_, values_.back(), channels, channels);
    if (chance(60)) y = add_batch_norm(builder_, y, channels);
    if (chance(10)) keep(y);
    Value* const skip = chance(30) ? add_convolution(builder_, x, channels, channels, 1) : x;
    const std::string kind = chance(50) ? "aten::add_" : "aten::add";
    y = chance(80) ? builder_.add(kind, {y, skip}) : builder_.add("aten::add", {skip, y});
    keep(chance(80) ? builder_.add("aten::relu", {y}) : y);
  }

  void add_linear(Value* x, const sizes& shape) {
    const std::int64_t inputs = shape.back();
    const std::int64_t outputs = chance(60) ? inputs : one_of({3, side_, 8});
    Value* const weight = constant(at::randn({outputs, inputs}) / std::sqrt(static_cast<double>(inputs)));
    Value* const bias = constant(at::randn({outputs}));
    const std::uint64_t form = below(4);
    if (form == 0 && shape.size() == 2) {
      keep(builder_.add("aten::addmm", {bias, x, builder_.add("aten::t", {weight})}));
    } else if (form == 1) {
      keep(builder_.add("aten::matmul", {x, builder_.add("aten::t", {weight})}));
    } else if (form == 2) {
      keep(builder_.add("aten::linear", {x, weight}));
    } else {
      keep(builder_.add("aten::linear", {x, weight, bias}));
    }
    if (chance(30)) add_normalisation(values_.back(), shape_of(values_.back()));
    if (chance(30)) add_constant(values_.back(), shape_of(values_.back()));
    if (chance(30)) keep(builder_.add("aten::relu", {values_.back()}));
  }

  void add_normalisation(Value* x, const sizes& shape) {
    if (shape.size() >= 2) keep(add_batch_norm(builder_, x, shape[1]));
  }

  /// Of a shape that broadcasts to the value's own.
  void add_constant(Value* x, const sizes& shape) {
    sizes made(shape.begin() + between(0, static_cast<std::int64_t>(shape.size())), shape.end());
    if (made.size() == shape.size()) made[0] = 1;  // the batch has several sizes
    for (std::int64_t& each : made) each = chance(50) ? 1 : each;
    if (shape.size() >= 3 && chance(40)) made = sizes{shape[1], 1, 1};
    if (made.size() == 3 && shape.size() == 3) made[0] = 1;
    const at::Tensor value = at::rand(made) + 0.5;
    const std::string kind = std::vector<std::string>{"aten::mul", "aten::add", "aten::sub", "aten::div"}[below(4)];
    const bool is_number = chance(15);
    const bool is_in_place = chance(20);
    Value* const other = is_number ? constant(1.5) : constant(value);
    // A quotient with a small divisor is not stable.
    const bool is_swapped = !is_number && !is_in_place && kind != "aten::div" && chance(25);
    keep(builder_.add(kind + (is_in_place ? "_" : ""), is_swapped ? std::vector<torch::jit::NamedValue>{other, x}
                                                                  : std::vector<torch::jit::NamedValue>{x, other}));
  }

  /// With an earlier value of the same shape.
  void add_sum(Value* x, const sizes& shape) {
    std::vector<Value*> fitting;
    for (Value* each : values_) {
      if (each != x && shape_of(each) == shape) fitting.push_back(each);
    }
    if (fitting.empty()) return add_activation(x);
    Value* const other = fitting[below(fitting.size())];
    const std::uint64_t form = below(8);
    if (form == 0) {
      keep(builder_.add("aten::mul", {x, other}));
    } else if (form == 1 && shape.size() == 4) {
      keep(builder_.add_list("aten::cat", {x, other}, 1));
    } else {
      keep(builder_.add(form < 4 ? "aten::add_" : "aten::add", {x, other}));
    }
    if (chance(50)) add_activation(values_.back());
  }

  void add_activation(Value* x) {
    static const std::vector<std::string> kinds = {"aten::relu",  "aten::relu",      "aten::relu_", "aten::sigmoid",
                                                   "aten::tanh",  "aten::hardswish", "aten::gelu",  "aten::silu",
                                                   "aten::silu_", "aten::relu_"};
    keep(builder_.add(kinds[below(kinds.size())], {x}));
  }

  void add_pooling(Value* x, const sizes& shape) {
    if (shape[2] < 3 || shape[3] < 3) return add_activation(x);
    Value* const two = constant(sizes{2, 2});
    const std::uint64_t form = below(4);
    if (form == 0) return keep(builder_.add("aten::adaptive_avg_pool2d", {x, constant(sizes{1, 1})}));
    if (form == 1) return keep(builder_.add("aten::avg_pool2d", {x, two}));
    if (form == 2) return keep(builder_.add("aten::mean", {x, constant(sizes{2, 3}), chance(50)}));
    keep(builder_.add("aten::max_pool2d", {x, two}));
  }

  void add_padded_slice(Value* x, const sizes& shape) {
    if (shape[2] < 2) return add_activation(x);
    Value* const sliced = builder_.add("aten::slice", {x, 2, 0, 1000, 2});
    if (chance(20)) keep(sliced);
    keep(builder_.add("aten::pad", {sliced, constant(sizes{0, 0, 0, 0, 1, 1})}));
  }

  void add_view(Value* x, const sizes& shape) {
    const std::uint64_t form = below(4);
    const auto rank = static_cast<std::int64_t>(shape.size());
    if (form == 0 && rank >= 3) return keep(builder_.add("aten::flatten", {x, one_of({1, 2}), -1}));
    if (form == 1 && rank >= 3) return keep(builder_.add("aten::transpose", {x, 1, rank - 1}));
    if (form == 2 && rank == 4) return keep(builder_.add("aten::permute", {x, constant(sizes{0, 2, 3, 1})}));
    if (rank >= 2)
      keep(builder_.add("aten::reshape",
                        {x, constant(sizes{-1, shape[1], c10::multiply_integers(shape) / shape[0] / shape[1]})}));
  }

  std::mt19937_64 engine_;
  graph_builder builder_;
  std::vector<Value*> values_;
  std::int64_t side_ = 4;
  std::int64_t order_ = 0;
};

std::shared_ptr<torch::jit::Graph> in_double(torch::jit::Graph& graph) {
  auto made = graph.copy();
  for (Node* node = *made->nodes().begin(); node != made->return_node();) {
    Node* const next = node->next();
    const auto held = node->kind() == c10::prim::Constant ? torch::jit::toIValue(node->output()) : std::nullopt;
    if (held && held->isTensor()) {
      torch::jit::WithInsertPoint before(node);
      node->output()->replaceAllUsesWith(made->insertConstant(held->toTensor().to(at::kDouble)));
      node->destroy();
    }
    node = next;
  }
  return made;
}

bool is_stable(const random_graph& drawn) {
  const auto exact = in_double(*drawn.graph);
  for (const at::Tensor& input : drawn.inputs) {
    const auto rounded = outputs_of(drawn.graph, {input});
    const auto wanted = outputs_of(exact, {input.to(at::kDouble)});
    for (std::size_t i = 0; i < rounded.size(); ++i) {
      const double apart = (rounded[i].to(at::kDouble) - wanted[i]).abs().max().item<double>();
      const double scale = wanted[i].abs().max().item<double>();
      if (!(apart <= tolerance_of(at::kFloat) / 4 * scale) || scale < 1e-3) return false;
    }
  }
  return true;
}

}  // namespace

random_graph draw_graph(std::uint64_t seed) {
  for (std::uint64_t attempt = 0;; ++attempt) {
    try {
      random_graph made = drawing(seed * 1000 + attempt).draw();
      if (is_stable(made)) return made;
    } catch (const std::exception&) {
      continue;  // a view that this order has not, or an operator in place on a result that promotes
    }
  }
}

}  // namespace troupe::testing
