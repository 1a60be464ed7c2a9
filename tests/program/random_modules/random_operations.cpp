#include <algorithm>

#include <ATen/ATen.h>

#include "tests/program/random_modules/random_steps.hpp"

namespace troupe::testing {
namespace {

enum class side : std::uint8_t { value_first, constant_first };

at::Tensor combined(const std::string& what, const at::Tensor& a, const at::Tensor& b) {
  if (what == "add") return at::add(a, b);
  if (what == "sub") return at::sub(a, b);
  if (what == "mul") return at::mul(a, b);
  return at::div(a, b);
}

/// One that broadcasts to x without its dimension of samples: trailing sizes of x, some of them 1; in some cases with
/// a leading 1.
std::vector<std::int64_t> draw_constant_sizes(dice& d, const at::Tensor& x) {
  std::vector<std::int64_t> sizes;
  const std::int64_t count = d.between(0, x.dim() - 1);
  for (std::int64_t dim = x.dim() - count; dim < x.dim(); ++dim) sizes.push_back(d.chance(40) ? 1 : x.size(dim));
  if (count == x.dim() - 1 && d.chance(50)) sizes.insert(sizes.begin(), 1);
  return sizes;
}

/// Of the type of x in most cases: another one takes part in the promotion of types.
at::Tensor draw_constant_tensor(dice& d, const at::Tensor& x) {
  const std::vector<std::int64_t> sizes = draw_constant_sizes(d, x);
  if (d.chance(5)) return d.away_from_zero(sizes, at::kDouble);
  if (d.chance(5)) return d.uniform(sizes, 1, 4, at::kLong);
  return d.away_from_zero(sizes, x.scalar_type());
}

random_step number_step(dice& d, const std::string& what) {
  const double number = static_cast<double>(d.between(1, 8)) / 4 * (d.chance(50) ? 1 : -1);
  return {.kind = "number " + what,
          .code = "torch." + what + "($0, " + std::to_string(number) + ")",
          .plain = [what, number](const tensor_list& in, const tensor_list&) {
            if (what == "add") return at::add(in[0], number);
            if (what == "sub") return at::sub(in[0], number);
            if (what == "mul") return at::mul(in[0], number);
            return at::div(in[0], number);
          }};
}

random_step in_place_step(const at::Tensor& constant, bool is_product) {
  return {.kind = "constant in place",
          .code = is_product ? "$0.mul_(@k)" : "$0.add_(@k)",
          .plain =
              [is_product](const tensor_list& in, const tensor_list& p) {
                at::Tensor value = in[0];
                return is_product ? value.mul_(p[0]) : value.add_(p[0]);
              },
          .parameters = {{"k", constant}}};
}

random_step scaled_sum(const at::Tensor& constant) {
  return {
      .kind = "constant with alpha",
      .code = "torch.add($0, @k, alpha=2)",
      .plain = [](const tensor_list& in, const tensor_list& p) { return at::add(in[0], p[0], 2); },
      .parameters = {{"k", constant}},
  };
}

struct activation_case {
  const char* code;
  at::Tensor (*plain)(const at::Tensor& x);
};

const std::vector<activation_case> activations = {
    {"torch.relu($0)", [](const at::Tensor& x) { return at::relu(x); }},
    {"torch.relu($0)", [](const at::Tensor& x) { return at::relu(x); }},
    {"torch.relu_($0)",
     [](const at::Tensor& x) {
       at::Tensor value = x;
       return at::relu_(value);
     }},
    {"torch.sigmoid($0)", [](const at::Tensor& x) { return at::sigmoid(x); }},
    {"torch.tanh($0)", [](const at::Tensor& x) { return at::tanh(x); }},
    {"torch.gelu($0)", [](const at::Tensor& x) { return at::gelu(x); }},
    {"torch.silu($0)", [](const at::Tensor& x) { return at::silu(x); }},
    {"torch.leaky_relu($0, 0.1)", [](const at::Tensor& x) { return at::leaky_relu(x, 0.1); }},
    {"torch.elu($0)", [](const at::Tensor& x) { return at::elu(x); }},
    {"torch.hardtanh($0)", [](const at::Tensor& x) { return at::hardtanh(x); }},
    {"torch.clamp($0, 0., 6.)", [](const at::Tensor& x) { return at::clamp(x, 0., 6.); }},
    {"torch.softmax($0, -1)", [](const at::Tensor& x) { return at::softmax(x, -1); }},
    {"torch.dropout($0, 0.5, False)", [](const at::Tensor& x) { return at::dropout(x, 0.5, false); }},
    {"torch.to($0, 7)", [](const at::Tensor& x) { return x.to(at::kDouble); }},
};

std::optional<random_step> pooled(const std::string& name, const at::Tensor& x, bool keeps_size) {
  const std::size_t dims = static_cast<std::size_t>(x.dim() - 2);
  const std::vector<std::int64_t> kernel(dims, keeps_size ? 3 : 2);
  const std::vector<std::int64_t> stride(dims, keeps_size ? 1 : 2);
  const std::vector<std::int64_t> padding(dims, keeps_size ? 1 : 0);
  const std::vector<std::int64_t> one(dims, 1);
  const bool is_max = name == "max_pool";
  return random_step{.kind = name,
                     .code = "torch." + name + std::to_string(dims) + "d($0, " + list_text(kernel) + ", " +
                             list_text(stride) + ", " + list_text(padding) +
                             (is_max ? ", " + list_text(one) + ", False)" : ", False, True)"),
                     .plain = [=](const tensor_list& in, const tensor_list&) {
                       if (is_max && dims == 1) return at::max_pool1d(in[0], kernel, stride, padding, one, false);
                       if (is_max && dims == 2) return at::max_pool2d(in[0], kernel, stride, padding, one, false);
                       if (is_max) return at::max_pool3d(in[0], kernel, stride, padding, one, false);
                       if (dims == 1) return at::avg_pool1d(in[0], kernel, stride, padding, false, true);
                       if (dims == 2) return at::avg_pool2d(in[0], kernel, stride, padding, false, true);
                       return at::avg_pool3d(in[0], kernel, stride, padding, false, true);
                     }};
}

}  // namespace

std::optional<random_step> draw_constant(dice& d, const at::Tensor& x) {
  const std::string what = d.one_of<std::string>({"add", "sub", "mul", "mul", "div"});
  if (d.chance(15)) return number_step(d, what);
  const at::Tensor constant = draw_constant_tensor(d, x);
  if (d.chance(5)) return in_place_step(constant, d.chance(50));
  if (d.chance(5)) return scaled_sum(constant);
  const side which = what != "div" && d.chance(30) ? side::constant_first : side::value_first;
  const bool is_first = which == side::constant_first;
  return random_step{.kind = "constant of " + std::to_string(constant.dim()) + " for " + std::to_string(x.dim()),
                     .code = "torch." + what + (is_first ? "(@k, $0)" : "($0, @k)"),
                     .plain =
                         [what, is_first](const tensor_list& in, const tensor_list& p) {
                           return is_first ? combined(what, p[0], in[0]) : combined(what, in[0], p[0]);
                         },
                     .parameters = {{"k", constant}}};
}

std::optional<random_step> draw_activation(dice& d, const at::Tensor&) {
  const activation_case chosen = d.one_of(activations);
  return random_step{.kind = chosen.code,
                     .code = chosen.code,
                     .plain = [chosen](const tensor_list& in, const tensor_list&) { return chosen.plain(in[0]); }};
}

std::optional<random_step> draw_pooling(dice& d, const at::Tensor& x) {
  if (x.dim() < 3 || x.dim() > 5) return std::nullopt;
  return pooled(d.one_of<std::string>({"max_pool", "avg_pool"}), x, d.chance(50));
}

std::optional<random_step> draw_shape(dice& d, const at::Tensor& x) {
  const std::int64_t last = x.dim() - 1;
  switch (d.below(5)) {
    case 0:
      if (last < 2) return std::nullopt;
      return random_step{.kind = "transpose",
                         .code = "torch.transpose($0, 1, -1)",
                         .plain = [](const tensor_list& in, const auto&) { return at::transpose(in[0], 1, -1); }};
    case 1:
      if (last < 2) return std::nullopt;
      return random_step{.kind = "flatten",
                         .code = "torch.flatten($0, " + std::to_string(last - 1) + ")",
                         .plain = [last](const tensor_list& in, const auto&) { return at::flatten(in[0], last - 1); }};
    case 2:
      if (last > 2) return std::nullopt;
      return random_step{.kind = "unsqueeze",
                         .code = "torch.unsqueeze($0, " + std::to_string(last) + ")",
                         .plain = [last](const tensor_list& in, const auto&) { return at::unsqueeze(in[0], last); }};
    case 3:
      if (last < 2) return std::nullopt;
      return random_step{.kind = "mean",
                         .code = "torch.mean($0, [" + std::to_string(last) + "], False)",
                         .plain = [last](const tensor_list& in, const auto&) { return at::mean(in[0], {last}); }};
    default:
      return random_step{.kind = "contiguous",
                         .code = "$0.contiguous()",
                         .plain = [](const tensor_list& in, const auto&) { return in[0].contiguous(); }};
  }
}

random_step draw_pair(dice& d, const at::Tensor& first) {
  if (d.chance(15)) {
    const std::int64_t dim = d.between(1, first.dim() - 1);
    return {.kind = "pair cat",
            .code = "torch.cat([$0, $1], " + std::to_string(dim) + ")",
            .plain = [dim](const tensor_list& in, const tensor_list&) {
              return at::cat({in[0], in[1]}, dim);
            }};
  }
  const std::string what = d.one_of<std::string>({"add", "add", "sub", "mul"});
  return {.kind = "pair " + what,
          .code = "torch." + what + "($0, $1)",
          .plain = [what](const tensor_list& in, const tensor_list&) { return combined(what, in[0], in[1]); }};
}

}  // namespace troupe::testing
