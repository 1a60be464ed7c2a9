#include "runtime/training/training_pass.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/accumulate.h>
#include <torch/library.h>

#include "messages/check.hpp"
#include "runtime/optimizer/keyed_tensors.hpp"
#include "runtime/training/keyed_draws.hpp"

namespace troupe {
namespace {

thread_local training_pass* pass_of_this_thread = nullptr;

/// Operators of one layer that draw; more begin again at the first number.
constexpr std::uint64_t draws_per_layer = std::uint64_t{1} << 20;

constexpr auto pass_key = c10::DispatchKey::TESTING_ONLY_GenericMode;
using outside_of_pass = c10::impl::ExcludeDispatchKeyGuard;

/// 0 with probability p, else 1 / (1 - p), by sample where dimension 0 is made of samples; float32 on the CPU.
at::Tensor mask_of(at::IntArrayRef sizes, double p, training_pass& pass) {
  const draw_place& place = pass.place();
  const auto samples = static_cast<std::int64_t>(place.samples.size());
  const bool is_by_sample = !sizes.empty() && sizes[0] % samples == 0;
  const std::span<const std::uint64_t> rows(place.samples.data(), is_by_sample ? place.samples.size() : 1);
  const auto row_count = static_cast<std::int64_t>(rows.size());
  return dropout_mask({row_count, c10::multiply_integers(sizes) / row_count}, p, place.seed, place.step,
                      pass.next_draw(), rows)
      .view(sizes);
}

std::vector<std::int64_t> sizes_of_features(const at::Tensor& input) {
  TORCH_CHECK(input.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input");
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(input.dim()), 1);
  sizes[0] = input.size(0);
  sizes[1] = input.size(1);
  return sizes;
}

/// As aten's dropout has it: `input` times the noise, and plus an offset for alpha dropout.
struct noise {
  at::Tensor factor;
  at::Tensor offset = {};
};

noise noise_of(const at::Tensor& input, double p, bool is_by_feature, bool is_alpha) {
  TORCH_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  const std::vector<std::int64_t> sizes = is_by_feature ? sizes_of_features(input) : input.sizes().vec();
  if (p == 1) return {at::zeros(sizes, input.options())};
  at::Tensor mask = mask_of(sizes, p, *training_pass::current());
  if (!is_alpha && input.scalar_type() == at::kFloat) return {mask.to(input.device())};
  mask = mask.ne(0).to(input.options());
  if (!is_alpha) return {mask.div_(1 - p)};
  constexpr double alpha = 1.7580993408473766;
  const double a = 1. / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  at::Tensor offset = mask.add(-1).mul_(alpha * a).add_(alpha * a * p);
  return {mask.mul_(a), std::move(offset)};
}

bool draws(const at::Tensor& input, double p, bool train) {
  const training_pass* const pass = training_pass::current();
  return train && p != 0 && input.numel() != 0 && pass != nullptr && pass->drops();
}

template <bool by_feature, bool is_alpha>
at::Tensor dropout(const at::Tensor& input, double p, bool train) {
  const outside_of_pass outside(pass_key);
  if (!draws(input, p, train)) return input;
  const noise drawn = noise_of(input, p, by_feature, is_alpha);
  at::Tensor kept = input.mul(drawn.factor);
  return drawn.offset.defined() ? kept.add_(drawn.offset) : kept;
}

template <bool by_feature, bool is_alpha>
at::Tensor& dropout_in_place(at::Tensor& input, double p, bool train) {
  const outside_of_pass outside(pass_key);
  if (!draws(input, p, train)) return input;
  const noise drawn = noise_of(input, p, by_feature, is_alpha);
  input.mul_(drawn.factor);
  return drawn.offset.defined() ? input.add_(drawn.offset) : input;
}

std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input, double p, std::optional<bool> train) {
  const outside_of_pass outside(pass_key);
  const auto mask_options = input.options().dtype(at::kBool);
  if (!draws(input, p, train.value_or(true))) return {input.clone(), at::ones(input.sizes(), mask_options)};
  const noise drawn = noise_of(input, p, false, false);
  return {input.mul(drawn.factor), drawn.factor.ne(0)};
}

at::Tensor batch_norm(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                      const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& running_mean,
                      const std::optional<at::Tensor>& running_var, bool training, double momentum, double eps,
                      bool cudnn) {
  const outside_of_pass outside(pass_key);
  training_pass* const pass = training_pass::current();
  const bool is_kept =
      training && pass != nullptr && running_mean && running_mean->defined() && running_var && running_var->defined();
  if (!is_kept) return at::batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn);
  if (momentum > 0 && momentum < 2. / static_cast<double>(training_pass::tracked_from)) {
    throw untrainable(
        "its batch normalisation has no momentum, so that its running statistics depend on how many "
        "micro-batches there were before",
        "give it a momentum, such as torch::nn::BatchNorm2dOptions(channels).momentum(0.1)");
  }
  seen_statistics seen{.running_mean = running_mean->unsafeGetTensorImpl(),
                       .running_var = running_var->unsafeGetTensorImpl(),
                       .momentum = momentum,
                       .mean = at::zeros_like(*running_mean),
                       .var = at::zeros_like(*running_var)};
  // with a momentum of 1 the statistics themselves are left
  at::Tensor made = at::batch_norm(input, weight, bias, seen.mean, seen.var, true, 1.0, eps, cudnn);
  pass->keep(std::move(seen));
  return made;
}

void call_next(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  op.redispatchBoxed(keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, pass_key), stack);
}

bool is_switched_off(const c10::Argument& argument, const c10::IValue& value) {
  return argument.name() == "training" && value.isBool() && !value.toBool();
}

/// Gives an operator that would use the process-wide generator one of its own.
void draw_with_key(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  training_pass* const pass = training_pass::current();
  const auto& arguments = op.schema().arguments();
  const std::size_t first = stack->size() - arguments.size();
  for (std::size_t at = 0; pass != nullptr && at < arguments.size(); ++at) {
    c10::IValue& value = (*stack)[first + at];
    if (is_switched_off(arguments[at], value)) break;
    if (arguments[at].name() != "generator" || !value.isNone()) continue;
    const draw_place& place = pass->place();
    value = torch_generator(
        {.seed = place.seed, .layer = pass->next_draw(), .step = place.step, .sample = place.samples.front()});
  }
  call_next(op, keys, stack);
}

TORCH_LIBRARY_IMPL(_, TESTING_ONLY_GenericMode, library) {
  library.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, TESTING_ONLY_GenericMode, library) {
  library.impl("dropout", dropout<false, false>);
  library.impl("dropout_", dropout_in_place<false, false>);
  library.impl("feature_dropout", dropout<true, false>);
  library.impl("feature_dropout_", dropout_in_place<true, false>);
  library.impl("alpha_dropout", dropout<false, true>);
  library.impl("alpha_dropout_", dropout_in_place<false, true>);
  library.impl("feature_alpha_dropout", dropout<true, true>);
  library.impl("feature_alpha_dropout_", dropout_in_place<true, true>);
  library.impl("native_dropout", native_dropout);
  library.impl("batch_norm", batch_norm);
  // What draws in the end, whatever calls it: rand() is uniform_(), and an initialisation of weights normal_().
  for (const char* name : {"bernoulli_.Tensor",
                           "bernoulli_.float",
                           "bernoulli.out",
                           "uniform_",
                           "normal_",
                           "random_",
                           "random_.to",
                           "random_.from",
                           "exponential_",
                           "cauchy_",
                           "log_normal_",
                           "geometric_",
                           "multinomial",
                           "multinomial.out",
                           "poisson",
                           "binomial",
                           "_standard_gamma",
                           "_sample_dirichlet",
                           "randperm.generator_out",
                           "rrelu_with_noise",
                           "rrelu_with_noise_",
                           "rrelu_with_noise.out",
                           "normal.Tensor_float",
                           "normal.Tensor_float_out",
                           "normal.float_Tensor",
                           "normal.float_Tensor_out",
                           "normal.Tensor_Tensor",
                           "normal.Tensor_Tensor_out"}) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&draw_with_key>());
  }
}

}  // namespace

training_pass::training_pass(draw_place place, pass_mode mode)
    : place_(std::move(place)),
      mode_(mode),
      around_(pass_of_this_thread),
      guard_(c10::DispatchKey::TESTING_ONLY_GenericMode) {
  TROUPE_CHECK(!place_.samples.empty(), "an empty part of a micro-batch is not computed");
  pass_of_this_thread = this;
}

training_pass::~training_pass() {
  pass_of_this_thread = around_;
}

void training_pass::enter_layer(std::size_t layer) noexcept {
  layer_ = layer;
  draws_ = 0;
}

std::uint64_t training_pass::next_draw() noexcept {
  return layer_ * draws_per_layer + draws_++ % draws_per_layer;
}

training_pass* training_pass::current() noexcept {
  return pass_of_this_thread;
}

}  // namespace troupe
