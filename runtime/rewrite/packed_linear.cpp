#include "runtime/rewrite/packed_linear.hpp"

#include <mutex>
#include <optional>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include "runtime/kernel/packed_linear.hpp"

namespace troupe {
namespace {

bool is_packed_type(at::ScalarType type) {
  return type == at::kFloat || type == at::kBFloat16;
}

bool is_dense_cpu(const at::Tensor& tensor) {
  return tensor.device().is_cpu() && tensor.layout() == at::kStrided;
}

packed_weights packed(const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor wide_bias = bias.defined() ? bias.to(at::kFloat) : bias;
  const float* biases = bias.defined() ? wide_bias.const_data_ptr<float>() : nullptr;
  const std::int64_t bias_stride = bias.defined() ? wide_bias.stride(0) : 1;
  const auto as_matrix = [&]<class Number>(const Number* data) {
    return weight_matrix<Number>{data, weight.size(0), weight.size(1), weight.stride(0), weight.stride(1)};
  };
  if (weight.scalar_type() == at::kFloat) {
    return packed_weights(as_matrix(weight.const_data_ptr<float>()), biases, bias_stride);
  }
  return packed_weights(as_matrix(static_cast<const bfloat16*>(weight.const_data_ptr())), biases, bias_stride);
}

/// Packed when it is used first, so that a process packs the weights of its own stage alone, and has no layer twice.
class packed_linear_constant : public torch::CustomClassHolder {
 public:
  packed_linear_constant(at::Tensor weight, at::Tensor bias) : weight_(std::move(weight)), bias_(std::move(bias)) {}

  /// Before weights() is called.
  [[nodiscard]] bool lacks_memory() const { return weight_.defined() && weight_.is_meta(); }

  /// Threads: any.
  const packed_weights& weights() const {
    std::call_once(is_packed_, [this] {
      packed_.emplace(packed(weight_, bias_));
      weight_ = bias_ = at::Tensor();
    });
    return *packed_;
  }

 private:
  mutable std::once_flag is_packed_;
  mutable at::Tensor weight_;
  mutable at::Tensor bias_;
  mutable std::optional<packed_weights> packed_;
};

/// x as rows whose numbers are neighbours, at one distance from each other; a view of x where that is possible.
at::Tensor as_rows(const at::Tensor& x) {
  const at::Tensor rows = x.resolve_neg().reshape({-1, x.size(-1)});
  return rows.size(1) <= 1 || rows.stride(1) == 1 ? rows : rows.contiguous();
}

void over_threads(std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t first, std::int64_t last)>& range) {
  at::parallel_for(0, count, grain, range);
}

template <class Number>
void compute(const packed_weights& weights, const at::Tensor& x, at::Tensor& y, std::int64_t rows, bool has_relu) {
  packed_linear<Number>(weights, rows, {static_cast<const Number*>(x.const_data_ptr()), x.stride(0)},
                        {static_cast<Number*>(y.mutable_data_ptr()), weights.outputs()},
                        {.has_relu = has_relu, .threads = over_threads});
}

at::Tensor run_linear(const at::Tensor& x, const c10::intrusive_ptr<packed_linear_constant>& constant, bool has_relu) {
  const packed_weights& weights = constant->weights();
  const at::ScalarType type = weights.is_bfloat16() ? at::kBFloat16 : at::kFloat;
  TORCH_CHECK(is_dense_cpu(x) && x.scalar_type() == type, "troupe::linear: x is ", x.toString(), ", the weights are ",
              type, " on the CPU");
  TORCH_CHECK(x.dim() >= 1 && x.size(-1) == weights.inputs(), "troupe::linear: x has the sizes ", x.sizes(),
              ", the weights [", weights.outputs(), ", ", weights.inputs(), "]");
  auto sizes = x.sizes().vec();
  sizes.back() = weights.outputs();
  at::Tensor y = at::empty(sizes, x.options().memory_format(at::MemoryFormat::Contiguous));
  if (y.numel() == 0) return y;
  const std::int64_t rows = y.numel() / weights.outputs();
  const at::Tensor from = as_rows(x);
  if (weights.is_bfloat16()) {
    compute<bfloat16>(weights, from, y, rows, has_relu);
  } else {
    compute<float>(weights, from, y, rows, has_relu);
  }
  return y;
}

const auto class_registration = torch::class_<packed_linear_constant>("troupe", "PackedLinear");

TORCH_LIBRARY_FRAGMENT(troupe, library) {
  library.def("linear(Tensor x, __torch__.torch.classes.troupe.PackedLinear w, bool relu) -> Tensor", run_linear);
}

}  // namespace

bool can_pack_linear(const at::Tensor& weight, const at::Tensor& bias) {
  if (!(is_dense_cpu(weight) || weight.is_meta()) || weight.dim() != 2 || !is_packed_type(weight.scalar_type()))
    return false;
  if (weight.numel() == 0 || weight.nbytes() > weight.storage().nbytes()) return false;
  if (!bias.defined()) return true;
  return (is_dense_cpu(bias) || bias.is_meta()) && bias.dim() == 1 && bias.size(0) == weight.size(0) &&
         bias.scalar_type() == weight.scalar_type();
}

bool is_linear_without_weights(const c10::IValue& constant) {
  using pointer = c10::intrusive_ptr<packed_linear_constant>;
  const bool is_one = constant.isCustomClass() && constant.type() == c10::getCustomClassType<pointer>();
  return is_one && constant.toCustomClass<packed_linear_constant>()->lacks_memory();
}

c10::IValue pack_linear(const at::Tensor& weight, const at::Tensor& bias) {
  TORCH_CHECK(can_pack_linear(weight, bias), "pack_linear: weight ", weight.toString(), " ", weight.sizes(),
              bias.defined() ? " with a bias of another type or size" : "", " is not [N, K] of float32 or bfloat16");
  const at::Tensor plain_bias = bias.defined() ? bias.resolve_neg() : bias;
  return c10::IValue(c10::make_intrusive<packed_linear_constant>(weight.resolve_neg(), plain_bias));
}

}  // namespace troupe
