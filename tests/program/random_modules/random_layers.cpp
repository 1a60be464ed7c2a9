#include <algorithm>
#include <cmath>

#include "tests/program/random_modules/random_steps.hpp"

namespace troupe::testing {
namespace {

using sizes = std::vector<std::int64_t>;

/// What all convolutions have.
struct window {
  std::int64_t dims = 0;
  std::int64_t groups = 1;
  sizes kernel;
  sizes stride;
  sizes padding;
  sizes dilation;
};

window draw_window(dice& d, const at::Tensor& x) {
  window made{.dims = x.dim() - 2, .groups = 1, .kernel = {}, .stride = {}, .padding = {}, .dilation = {}};
  const bool keeps_size = d.chance(60);
  for (std::int64_t dim = 0; dim < made.dims; ++dim) {
    made.kernel.push_back(keeps_size ? d.one_of<std::int64_t>({1, 3}) : d.between(1, 3));
    made.stride.push_back(keeps_size ? 1 : d.between(1, 2));
    made.padding.push_back(keeps_size ? made.kernel.back() / 2 : d.between(0, 1));
    made.dilation.push_back(keeps_size ? 1 : d.between(1, 2));
  }
  if (d.chance(35)) {
    sizes divisors;
    for (std::int64_t each = 1; each <= x.size(1); ++each) {
      if (x.size(1) % each == 0) divisors.push_back(each);
    }
    made.groups = d.one_of(divisors);
  }
  return made;
}

double deviation_for(const sizes& weight) {
  double fan_in = 1;
  for (std::size_t dim = 1; dim < weight.size(); ++dim) fan_in *= static_cast<double>(weight[dim]);
  return 1 / std::sqrt(fan_in);
}

at::Tensor with_format_of(const at::Tensor& x, at::Tensor weight) {
  if (x.is_contiguous() || weight.dim() != x.dim()) return weight;
  if (x.dim() == 4 && x.is_contiguous(at::MemoryFormat::ChannelsLast)) {
    return weight.contiguous(at::MemoryFormat::ChannelsLast);
  }
  if (x.dim() == 5 && x.is_contiguous(at::MemoryFormat::ChannelsLast3d)) {
    return weight.contiguous(at::MemoryFormat::ChannelsLast3d);
  }
  return weight;
}

std::optional<at::Tensor> bias_of(const tensor_list& parameters) {
  return parameters.size() > 1 ? std::optional(parameters[1]) : std::nullopt;
}

/// The form that a trace of LibTorch's own layers has.
std::string traced_form(const window& how, const std::string& bias, bool is_transposed, const sizes& output_padding) {
  return "torch._convolution($0, @w, " + bias + ", " + list_text(how.stride) + ", " + list_text(how.padding) + ", " +
         list_text(how.dilation) + ", " + (is_transposed ? "True" : "False") + ", " + list_text(output_padding) + ", " +
         std::to_string(how.groups) + ", False, False, True, True)";
}

void add_weights(dice& d, random_step& made, const at::Tensor& x, const sizes& weight, std::int64_t outputs) {
  made.parameters.emplace_back("w", with_format_of(x, d.normal(weight, deviation_for(weight), x.scalar_type())));
  if (d.chance(70)) made.parameters.emplace_back("b", d.normal({outputs}, 1, x.scalar_type()));
}

}  // namespace

std::string list_text(const std::vector<std::int64_t>& numbers) {
  std::string text = "[";
  for (const std::int64_t each : numbers) text += (text.size() > 1 ? ", " : "") + std::to_string(each);
  return text + "]";
}

std::int64_t draw_width(dice& d, const at::Tensor& x) {
  const std::int64_t other = x.size(d.between(1, x.dim() - 1));
  return other <= 8 && d.chance(50) ? other : d.between(1, 6);
}

std::optional<random_step> draw_linear(dice& d, const at::Tensor& x) {
  random_step made{.kind = "linear", .code = {}, .plain = [](const tensor_list& in, const tensor_list& p) {
                     return at::linear(in[0], p[0], bias_of(p));
                   }};
  const std::int64_t outputs = draw_width(d, x);
  add_weights(d, made, x, {outputs, x.size(-1)}, outputs);
  made.code = made.parameters.size() > 1 ? "torch.linear($0, @w, @b)" : "torch.linear($0, @w, None)";
  return made;
}

std::optional<random_step> draw_convolution(dice& d, const at::Tensor& x) {
  if (x.dim() < 3 || x.dim() > 5) return std::nullopt;
  const window how = draw_window(d, x);
  const std::int64_t outputs = how.groups == 1 ? draw_width(d, x) : how.groups * d.between(1, 2);
  sizes weight = {outputs, x.size(1) / how.groups};
  weight.insert(weight.end(), how.kernel.begin(), how.kernel.end());
  const std::string dims = std::to_string(how.dims);
  random_step made{
      .kind = "conv" + dims + "d", .code = {}, .plain = [how](const tensor_list& in, const tensor_list& p) {
        if (how.dims == 1)
          return at::conv1d(in[0], p[0], bias_of(p), how.stride, how.padding, how.dilation, how.groups);
        if (how.dims == 2)
          return at::conv2d(in[0], p[0], bias_of(p), how.stride, how.padding, how.dilation, how.groups);
        return at::conv3d(in[0], p[0], bias_of(p), how.stride, how.padding, how.dilation, how.groups);
      }};
  add_weights(d, made, x, weight, outputs);
  const std::string bias = made.parameters.size() > 1 ? "@b" : "None";
  made.code = d.chance(50) ? traced_form(how, bias, false, sizes(how.kernel.size(), 0))
                           : "torch.conv" + dims + "d($0, @w, " + bias + ", " + list_text(how.stride) + ", " +
                                 list_text(how.padding) + ", " + list_text(how.dilation) + ", " +
                                 std::to_string(how.groups) + ")";
  return made;
}

std::optional<random_step> draw_transposed_convolution(dice& d, const at::Tensor& x) {
  if (x.dim() < 3 || x.dim() > 5) return std::nullopt;
  window how = draw_window(d, x);
  const std::int64_t outputs = how.groups == 1 ? draw_width(d, x) : how.groups * d.between(1, 2);
  sizes weight = {x.size(1), outputs / how.groups};
  weight.insert(weight.end(), how.kernel.begin(), how.kernel.end());
  sizes extra;
  for (const std::int64_t stride : how.stride) extra.push_back(d.between(0, stride - 1));
  const std::string dims = std::to_string(how.dims);
  random_step made{.kind = "conv_transpose" + dims + "d",
                   .code = {},
                   .plain = [how, extra](const tensor_list& in, const tensor_list& p) {
                     if (how.dims == 1)
                       return at::conv_transpose1d(in[0], p[0], bias_of(p), how.stride, how.padding, extra, how.groups,
                                                   how.dilation);
                     if (how.dims == 2)
                       return at::conv_transpose2d(in[0], p[0], bias_of(p), how.stride, how.padding, extra, how.groups,
                                                   how.dilation);
                     return at::conv_transpose3d(in[0], p[0], bias_of(p), how.stride, how.padding, extra, how.groups,
                                                 how.dilation);
                   }};
  add_weights(d, made, x, weight, outputs);
  const std::string bias = made.parameters.size() > 1 ? "@b" : "None";
  made.code = d.chance(50) ? traced_form(how, bias, true, extra)
                           : "torch.conv_transpose" + dims + "d($0, @w, " + bias + ", " + list_text(how.stride) + ", " +
                                 list_text(how.padding) + ", " + list_text(extra) + ", " + std::to_string(how.groups) +
                                 ", " + list_text(how.dilation) + ")";
  return made;
}

}  // namespace troupe::testing
