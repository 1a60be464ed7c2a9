#include "tests/program/random_modules/random_steps.hpp"

namespace troupe::testing {
namespace {

constexpr double epsilon = 1e-5;

/// Weight and bias of `sizes`, in half of the cases; the text of both as arguments.
std::string add_affine(dice& d, random_step& made, const std::vector<std::int64_t>& sizes, at::ScalarType dtype) {
  if (d.chance(30)) return "None, None";
  made.parameters.emplace_back("w", d.away_from_zero(sizes, dtype));
  made.parameters.emplace_back("b", d.normal(sizes, 1, dtype));
  return "@w, @b";
}

void add_statistics(dice& d, random_step& made, std::int64_t channels, at::ScalarType dtype) {
  made.parameters.emplace_back("m", d.normal({channels}, 1, dtype));
  made.parameters.emplace_back("v", d.uniform({channels}, 0.5, 2, dtype));
}

/// The parameter at `place`, where the step has it.
std::optional<at::Tensor> given(const tensor_list& parameters, std::size_t place) {
  return place < parameters.size() ? std::optional(parameters[place]) : std::nullopt;
}

}  // namespace

std::optional<random_step> draw_batch_norm(dice& d, const at::Tensor& x) {
  random_step made{.kind = "batch_norm of " + std::to_string(x.dim()) + " dimensions",
                   .code = {},
                   .plain = [](const tensor_list& in, const tensor_list& p) {
                     return at::batch_norm(in[0], given(p, 2), given(p, 3), p[0], p[1], false, 0.1, epsilon, true);
                   }};
  add_statistics(d, made, x.size(1), x.scalar_type());
  const std::string affine = add_affine(d, made, {x.size(1)}, x.scalar_type());
  made.code = "torch.batch_norm($0, " + affine + ", @m, @v, False, 0.1, 1e-05, True)";
  return made;
}

std::optional<random_step> draw_layer_norm(dice& d, const at::Tensor& x) {
  std::vector<std::int64_t> over;
  for (std::int64_t dim = d.between(1, x.dim() - 1); dim < x.dim(); ++dim) over.push_back(x.size(dim));
  random_step made{.kind = "layer_norm", .code = {}, .plain = [over](const tensor_list& in, const tensor_list& p) {
                     return at::layer_norm(in[0], over, given(p, 0), given(p, 1), epsilon, true);
                   }};
  const std::string affine = add_affine(d, made, over, x.scalar_type());
  made.code = "torch.layer_norm($0, " + list_text(over) + ", " + affine + ", 1e-05, True)";
  return made;
}

std::optional<random_step> draw_group_norm(dice& d, const at::Tensor& x) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t each = 1; each <= x.size(1); ++each) {
    if (x.size(1) % each == 0) divisors.push_back(each);
  }
  const std::int64_t groups = d.one_of(divisors);
  random_step made{.kind = "group_norm", .code = {}, .plain = [groups](const tensor_list& in, const tensor_list& p) {
                     return at::group_norm(in[0], groups, given(p, 0), given(p, 1), epsilon, true);
                   }};
  const std::string affine = add_affine(d, made, {x.size(1)}, x.scalar_type());
  made.code = "torch.group_norm($0, " + std::to_string(groups) + ", " + affine + ", 1e-05, True)";
  return made;
}

std::optional<random_step> draw_instance_norm(dice& d, const at::Tensor& x) {
  if (x.dim() < 3 || x.dim() > 5) return std::nullopt;
  const bool has_statistics = d.chance(40);
  random_step made{.kind = has_statistics ? "instance_norm with statistics" : "instance_norm",
                   .code = {},
                   .plain = [has_statistics](const tensor_list& in, const tensor_list& p) {
                     if (!has_statistics) {
                       return at::instance_norm(in[0], given(p, 0), given(p, 1), {}, {}, true, 0.1, epsilon, true);
                     }
                     return at::instance_norm(in[0], given(p, 2), given(p, 3), p[0], p[1], false, 0.1, epsilon, true);
                   }};
  if (has_statistics) add_statistics(d, made, x.size(1), x.scalar_type());
  const std::string affine = add_affine(d, made, {x.size(1)}, x.scalar_type());
  made.code = "torch.instance_norm($0, " + affine +
              (has_statistics ? ", @m, @v, False, 0.1, 1e-05, True)" : ", None, None, True, 0.1, 1e-05, True)");
  return made;
}

}  // namespace troupe::testing
