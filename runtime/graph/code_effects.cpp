#include "runtime/graph/code_effects.hpp"

#include <algorithm>
#include <array>

namespace troupe {
namespace {

struct named_effect {
  std::string_view name;
  std::string_view effect;
};

/// Operators of aten with an effect. By name alone, in all namespaces: the receiver of x.save() is not known here.
constexpr std::array member_effects{
    named_effect{"save", "writes a file"},
    named_effect{"from_file", "opens a file, and may make and write it"},
    named_effect{"_print", "prints"},
    named_effect{"manual_seed", "sets the random numbers of the whole process"},
};

constexpr std::array prim_effects{
    named_effect{"Print", "prints"},
    named_effect{"AddStatValue", "reports to LibTorch's logger"},
    named_effect{"PythonOp", "calls Python"},
    named_effect{"IgnoredPythonOp", "calls Python"},
    named_effect{"rpc_async", "calls another process"},
    named_effect{"rpc_sync", "calls another process"},
    named_effect{"rpc_remote", "calls another process"},
};

/// What the language itself has, without a module in front.
constexpr std::array plain_effects{
    named_effect{"print", "prints"},
    named_effect{"rpc_async", "calls another process"},
    named_effect{"rpc_sync", "calls another process"},
    named_effect{"rpc_remote", "calls another process"},
};

/// The operators of these in LibTorch 2.11 compute, but for the names above. Not among them: those that communicate
/// (c10d, symm_mem...), those that trust addresses and layouts (inductor, static_runtime), and what a program adds.
constexpr std::array<std::string_view, 12> namespaces{"aten",         "prim",      "quantized", "_quantized",
                                                      "quantization", "prepacked", "mkldnn",    "mkldnn_prepacked",
                                                      "mkl",          "onednn",    "sparse",    "profiler"};

/// Packed weights, and the marks of the profiler.
constexpr std::array<std::string_view, 6> class_namespaces{"quantized", "rnn",    "sparse",
                                                           "xnnpack",   "mkldnn", "profiler"};

template <std::size_t N>
std::optional<std::string_view> find_in(const std::array<named_effect, N>& effects, std::string_view name) {
  const auto found = std::ranges::find(effects, name, &named_effect::name);
  if (found == effects.end()) return std::nullopt;
  return found->effect;
}

}  // namespace

std::optional<std::string_view> effect_of_name(std::string_view name, name_place place) {
  switch (place) {
    case name_place::plain:
      return find_in(plain_effects, name);
    case name_place::member:
      return find_in(member_effects, name);
    case name_place::prim:
      break;
  }
  return find_in(prim_effects, name);
}

bool is_known_namespace(std::string_view name) {
  return std::ranges::find(namespaces, name) != namespaces.end();
}

bool is_known_class_namespace(std::string_view name) {
  return std::ranges::find(class_namespaces, name) != class_namespaces.end();
}

}  // namespace troupe
