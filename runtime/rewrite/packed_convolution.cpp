#include "runtime/rewrite/packed_convolution.hpp"

#include <mutex>
#include <optional>
#include <string_view>

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/custom_class.h>
#include <torch/library.h>

namespace troupe {
namespace {

/// oneDNN's order for the weights depends on the sizes of x; for other sizes it reorders them at each call, which can
/// cost several times what the convolution does. So the first x decides.
class packed_convolution : public torch::CustomClassHolder {
 public:
  explicit packed_convolution(const convolution_form& as_given)
      : form(as_given), weight_sizes(as_given.weight.sizes().vec()) {
    form.weight = at::Tensor();
    given_ = as_given.weight;
  }

  /// Before weight_for() is called.
  [[nodiscard]] bool lacks_memory() const { return given_.defined() && given_.is_meta(); }

  const at::Tensor& weight_for(const at::Tensor& x) const {
    std::call_once(is_packed_, [&] {
      packed_ = reorder(x);
      given_ = at::Tensor();
    });
    return packed_;
  }

  convolution_form form;  ///< without the weight
  const std::vector<std::int64_t> weight_sizes;

 private:
  at::Tensor reorder(const at::Tensor& x) const;

  mutable std::once_flag is_packed_;
  mutable at::Tensor given_;
  mutable at::Tensor packed_;
};

using packed_pointer = c10::intrusive_ptr<packed_convolution>;
using optional_tensor = std::optional<at::Tensor>;
using numbers = c10::List<std::optional<at::Scalar>>;
using text = std::optional<std::string_view>;

at::Tensor packed_convolution::reorder(const at::Tensor& x) const {
  static const auto operation = c10::Dispatcher::singleton()
                                    .findSchemaOrThrow("mkldnn::_reorder_convolution_weight", "")
                                    .typed<at::Tensor(const at::Tensor&, at::IntArrayRef, at::IntArrayRef,
                                                      at::IntArrayRef, std::int64_t, at::OptionalIntArrayRef)>();
  return operation.call(given_, form.padding, form.stride, form.dilation, form.groups, x.sizes());
}

optional_tensor bias_of(const convolution_form& form) {
  return form.bias.defined() ? optional_tensor(form.bias) : std::nullopt;
}

at::Tensor convolve(const at::Tensor& x, const packed_convolution& w, bool has_relu) {
  static const auto operation =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("mkldnn::_convolution_pointwise", "")
          .typed<at::Tensor(const at::Tensor&, const at::Tensor&, const optional_tensor&, at::IntArrayRef,
                            at::IntArrayRef, at::IntArrayRef, std::int64_t, std::string_view, numbers, text)>();
  const convolution_form& form = w.form;
  return operation.call(x, w.weight_for(x), bias_of(form), form.padding, form.stride, form.dilation, form.groups,
                        has_relu ? "relu" : "none", numbers(), "");
}

void convolve_onto(at::Tensor skip, const at::Tensor& x, const packed_convolution& w, bool has_relu) {
  static const auto operation =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("mkldnn::_convolution_pointwise_", "binary")
          .typed<at::Tensor&(at::Tensor&, const at::Tensor&, const at::Tensor&, const optional_tensor&, at::IntArrayRef,
                             at::IntArrayRef, at::IntArrayRef, std::int64_t, std::string_view,
                             std::optional<at::Scalar>, text, numbers, text)>();
  const convolution_form& form = w.form;
  operation.call(skip, x, w.weight_for(x), bias_of(form), form.padding, form.stride, form.dilation, form.groups, "add",
                 at::Scalar(1.0), has_relu ? text("relu") : std::nullopt, numbers(), "");
}

/// The output's length along an axis, 0 being the height; at most 0 where x is less than the kernel.
std::int64_t length_of(const at::Tensor& x, const packed_convolution& w, std::size_t axis) {
  const std::int64_t reach = w.form.dilation[axis] * (w.weight_sizes[axis + 2] - 1) + 1;
  const std::int64_t left = x.size(static_cast<std::int64_t>(axis) + 2) + 2 * w.form.padding[axis] - reach;
  return left < 0 ? 0 : left / w.form.stride[axis] + 1;
}

/// Throws for an x that has no such convolution.
std::vector<std::int64_t> sizes_of(const at::Tensor& x, const packed_convolution& w) {
  TORCH_CHECK(x.scalar_type() == at::kFloat && x.layout() == at::kStrided && x.device().is_cpu(),
              "troupe::convolution: x is ", x.toString(), ", the weights are float32 on the CPU");
  const bool fits = x.dim() == 4 && x.size(1) == w.weight_sizes[1] * w.form.groups && length_of(x, w, 0) > 0 &&
                    length_of(x, w, 1) > 0;
  TORCH_CHECK(fits, "troupe::convolution: x has the sizes ", x.sizes(), ", the weights ", w.weight_sizes, " in ",
              w.form.groups, " groups, with a padding of ", w.form.padding);
  return {x.size(0), w.weight_sizes[0], length_of(x, w, 0), length_of(x, w, 1)};
}

/// What a convolution of nothing but padding gives. oneDNN has none.
at::Tensor bias_alone(const std::vector<std::int64_t>& sizes, const convolution_form& form, bool has_relu) {
  at::Tensor y = at::zeros(sizes, at::kFloat);
  if (form.bias.defined()) y.add_(form.bias.view({1, -1, 1, 1}));
  return has_relu ? y.relu_() : y;
}

at::Tensor in_channels_last(const at::Tensor& x) {
  return x.resolve_neg().contiguous(at::MemoryFormat::ChannelsLast);
}

std::int64_t is_channels_last(const at::Tensor& x) {
  return (x.dim() == 3 ? x.unsqueeze(0) : x).suggest_memory_format() == at::MemoryFormat::ChannelsLast ? 1 : 0;
}

at::Tensor run_convolution(const at::Tensor& given, const packed_pointer& w, bool has_relu) {
  const at::Tensor x = given.dim() == 3 ? given.unsqueeze(0) : given;
  const auto sizes = sizes_of(x, *w);
  at::Tensor y = x.numel() == 0 ? bias_alone(sizes, w->form, has_relu) : convolve(in_channels_last(x), *w, has_relu);
  if (given.dim() == 4) return y;
  // A flattening could tell the orders apart.
  return is_channels_last(given) == 1 ? y.squeeze(0) : y.contiguous().squeeze(0);
}

at::Tensor run_convolution_add(const at::Tensor& skip, const at::Tensor& x, const packed_pointer& w, bool has_relu) {
  const bool fits = x.dim() == 4 && skip.scalar_type() == at::kFloat && skip.numel() > 0 && x.numel() > 0 &&
                    skip.is_contiguous(at::MemoryFormat::ChannelsLast) && skip.sizes() == sizes_of(x, *w);
  if (!fits) {
    const at::Tensor sum = at::add(run_convolution(x, w, false), skip);
    return has_relu ? at::relu(sum) : sum;
  }
  convolve_onto(skip, in_channels_last(x), *w, has_relu);
  return skip;
}

/// The strides of dimensions with one entry count, too: the next operator takes the order from them.
at::Tensor plain_order(const at::Tensor& x, std::int64_t channels_last) {
  if (channels_last != 0) return x;
  const at::Tensor made = x.contiguous();
  return made.dim() == 4 && made.suggest_memory_format() != at::MemoryFormat::Contiguous
             ? made.as_strided(made.sizes(), c10::TensorType::contiguousStridesOf(made.sizes()))
             : made;
}

const auto convolution_class = torch::class_<packed_convolution>("troupe", "PackedConvolution");

TORCH_LIBRARY_FRAGMENT(troupe, library) {
  library.def("convolution(Tensor x, __torch__.torch.classes.troupe.PackedConvolution w, bool relu) -> Tensor",
              run_convolution);
  library.def(
      "convolution_add_(Tensor(a!) skip, Tensor x, __torch__.torch.classes.troupe.PackedConvolution w, bool relu) -> "
      "Tensor(a!)",
      run_convolution_add);
  library.def("is_channels_last(Tensor x) -> int", is_channels_last);
  library.def("plain_order(Tensor(a) x, int channels_last) -> Tensor(a)", plain_order);
}

}  // namespace

c10::IValue pack_convolution(const convolution_form& form) {
  return c10::IValue(c10::make_intrusive<packed_convolution>(form));
}

bool is_convolution_without_weights(const c10::IValue& constant) {
  const bool is_one = constant.isCustomClass() && constant.type() == c10::getCustomClassType<packed_pointer>();
  return is_one && constant.toCustomClass<packed_convolution>()->lacks_memory();
}

bool can_pack_convolutions() {
  return at::hasMKLDNN() && at::globalContext().userEnabledMkldnn();
}

}  // namespace troupe
