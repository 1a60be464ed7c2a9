#include "runtime/rewrite/whole_vectors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/elu.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/mish.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/softplus.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include "runtime/rewrite/node_reading.hpp"

namespace troupe {
namespace {

/// A multiple of two vectors of 512 bits, the most that LibTorch takes at a time, for each type from 16 bits.
constexpr std::int64_t vector_unit = 64;
/// Below the 32,768 numbers from which LibTorch divides the work of an operator among threads itself.
constexpr std::int64_t part_units = 16384 / vector_unit;

at::Tensor flat(const at::Tensor& dense) {
  return dense.as_strided({dense.numel()}, {1});
}

/// compute(to, from) for parts of both that are whole vectors.
template <class Compute>
at::Tensor in_whole_vectors(const at::Tensor& x, const Compute& compute) {
  const at::Tensor from = x.is_non_overlapping_and_dense() ? x : x.contiguous();
  at::Tensor made = at::empty_like(from);
  const at::Tensor flat_from = flat(from);
  const at::Tensor flat_made = flat(made);
  const std::int64_t units = x.numel() / vector_unit;
  at::parallel_for(0, units, part_units, [&](std::int64_t first, std::int64_t last) {
    // Other threads do not know that this one is in inference mode.
    const at::AutoDispatchBelowADInplaceOrView no_gradients;
    for (std::int64_t unit = first; unit < last; unit += part_units) {
      const std::int64_t count = std::min(part_units, last - unit) * vector_unit;
      at::Tensor to = flat_made.narrow(0, unit * vector_unit, count);
      compute(to, flat_from.narrow(0, unit * vector_unit, count));
    }
  });
  const std::int64_t left = x.numel() - units * vector_unit;
  if (left > 0) {
    const at::AutoDispatchBelowADInplaceOrView no_gradients;
    const at::Tensor filled = at::zeros({vector_unit}, from.options());
    at::Tensor computed = at::empty_like(filled);
    filled.narrow(0, 0, left).copy_(flat_from.narrow(0, units * vector_unit, left));
    compute(computed, filled);
    flat_made.narrow(0, units * vector_unit, left).copy_(computed.narrow(0, 0, left));
  }
  return made;
}

/// What LibTorch does not compute in vectors of numbers on the CPU stays its own.
bool has_vectors(const at::Tensor& x) {
  return x.device().is_cpu() && x.layout() == at::kStrided && at::isFloatingType(x.scalar_type()) && !x.is_neg();
}

/// An operator of LibTorch, by the function that gives a new tensor and the one that writes into one.
template <auto plain, auto into>
struct whole;

template <class... Arguments, at::Tensor (*plain)(const at::Tensor&, Arguments...), auto into>
struct whole<plain, into> {
  static at::Tensor run(const at::Tensor& x, Arguments... arguments) {
    if (!has_vectors(x)) return plain(x, arguments...);
    return in_whole_vectors(x, [&](at::Tensor& to, const at::Tensor& from) { into(to, from, arguments...); });
  }
  static at::Tensor run_in_place(at::Tensor x, Arguments... arguments) {
    x.copy_(run(x, arguments...));
    return x;
  }
};

using sigmoid = whole<at::sigmoid, at::sigmoid_out>;
using silu = whole<at::silu, at::silu_out>;
using mish = whole<at::mish, at::mish_out>;
using elu = whole<at::elu, at::elu_out>;
using softplus = whole<at::softplus, at::softplus_out>;
using gelu = whole<at::gelu, at::gelu_out>;
using power = whole<static_cast<at::Tensor (*)(const at::Tensor&, const at::Scalar&)>(at::pow),
                    static_cast<at::Tensor& (*)(at::Tensor&, const at::Tensor&, const at::Scalar&)>(at::pow_out)>;

TORCH_LIBRARY_FRAGMENT(troupe, library) {
  library.def("sigmoid(Tensor self) -> Tensor", sigmoid::run);
  library.def("silu(Tensor self) -> Tensor", silu::run);
  library.def("mish(Tensor self) -> Tensor", mish::run);
  library.def("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", elu::run);
  library.def("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", softplus::run);
  library.def("gelu(Tensor self, *, str approximate='none') -> Tensor", gelu::run);
  library.def("pow(Tensor self, Scalar exponent) -> Tensor", power::run);
  library.def("sigmoid_(Tensor(a!) self) -> Tensor(a!)", sigmoid::run_in_place);
  library.def("silu_(Tensor(a!) self) -> Tensor(a!)", silu::run_in_place);
  library.def("mish_(Tensor(a!) self) -> Tensor(a!)", mish::run_in_place);
  library.def("elu_(Tensor(a!) self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor(a!)",
              elu::run_in_place);
  library.def("gelu_(Tensor(a!) self, *, str approximate='none') -> Tensor(a!)", gelu::run_in_place);
  library.def("pow_(Tensor(a!) self, Scalar exponent) -> Tensor(a!)", power::run_in_place);
}

bool is_exact_power(double exponent) {
  const double size = std::abs(exponent);
  return size == 0 || size == 0.5 || size == 1 || size == 2 || size == 3;
}

bool depends_on_place(const torch::jit::Node& node) {
  constexpr std::array always = {"aten::sigmoid",  "aten::silu", "aten::mish",     "aten::elu",
                                 "aten::softplus", "aten::gelu", "aten::sigmoid_", "aten::silu_",
                                 "aten::mish_",    "aten::elu_", "aten::gelu_"};
  if (node.maybeSchema() == nullptr || node.inputs().empty() || !is_tensor(node.input(0))) return false;
  if (std::ranges::any_of(always, [&](const char* kind) { return has_kind(node, kind); })) return true;
  const std::string& overload = node.schema().overload_name();
  const bool is_power = (has_kind(node, "aten::pow") && overload == "Tensor_Scalar") ||
                        (has_kind(node, "aten::pow_") && overload == "Scalar");
  if (!is_power) return false;
  const auto exponent = constant_number(node.input(1));
  return exponent && !is_exact_power(*exponent);
}

}  // namespace

void use_whole_vectors(torch::jit::Graph& graph, rewrite_report& report) {
  for (torch::jit::Node* node = *graph.nodes().begin(); node != graph.return_node();) {
    torch::jit::Node* const next = node->next();
    if (depends_on_place(*node)) {
      node->replaceWithNewSymbol(c10::Symbol::fromQualString(std::string("troupe::") + node->kind().toUnqualString()));
      node->destroy();
      ++report.in_whole_vectors;
    }
    node = next;
  }
}

}  // namespace troupe
