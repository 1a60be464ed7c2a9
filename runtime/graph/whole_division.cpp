#include "runtime/graph/whole_division.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include <torch/library.h>

namespace troupe {
namespace {

using torch::jit::Node;
using torch::jit::Value;

std::int64_t toward_zero(std::int64_t a, std::int64_t b) {
  if (b == 0) throw std::domain_error("a whole number is divided by 0");
  if (b == -1 && a == std::numeric_limits<std::int64_t>::min())
    throw std::domain_error("the quotient of two whole numbers has more than 64 bits");
  return a / b;
}

std::int64_t downward(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = toward_zero(a, b);
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t remainder_of(std::int64_t a, std::int64_t b) {
  return a - downward(a, b) * b;
}

std::tuple<std::int64_t, std::int64_t> both(std::int64_t a, std::int64_t b) {
  return {downward(a, b), remainder_of(a, b)};
}

std::int64_t common_divisor(std::int64_t a, std::int64_t b) {
  if (std::min(a, b) == std::numeric_limits<std::int64_t>::min())
    throw std::domain_error("the greatest common divisor of two whole numbers has more than 64 bits");
  return std::gcd(a, b);
}

TORCH_LIBRARY_FRAGMENT(troupe, library) {
  library.def("floordiv(int a, int b) -> int", &downward);
  library.def("__round_to_zero_floordiv(int a, int b) -> int", &toward_zero);
  library.def("remainder(int a, int b) -> int", &remainder_of);
  library.def("divmod(int a, int b) -> (int, int)", &both);
  library.def("gcd(int a, int b) -> int", &common_divisor);
}

const std::map<c10::Symbol, c10::Symbol>& guarded() {
  static const std::map<c10::Symbol, c10::Symbol> operators = [] {
    std::map<c10::Symbol, c10::Symbol> made;
    for (const std::string name : {"floordiv", "__round_to_zero_floordiv", "remainder", "divmod", "gcd"})
      made.emplace(c10::Symbol::fromQualString("aten::" + name), c10::Symbol::fromQualString("troupe::" + name));
    return made;
  }();
  return operators;
}

}  // namespace

void guard_divisions(torch::jit::Block& block) {
  for (auto node = block.nodes().begin(); node != block.nodes().end(); ++node) {
    for (torch::jit::Block* inner : node->blocks()) guard_divisions(*inner);
    const auto found = guarded().find(node->kind());
    const bool is_whole = std::ranges::all_of(
        node->inputs(), [](const Value* input) { return input->type()->kind() == c10::TypeKind::IntType; });
    if (found == guarded().end() || !is_whole) continue;
    node->replaceWithNewSymbol(found->second);
    node.destroyCurrent();
  }
}

}  // namespace troupe
