#include "runtime/model/load_time_code.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace troupe {
namespace {

using found_word = std::optional<std::pair<std::string, std::size_t>>;

/// With constants as arguments these are constants.
constexpr std::array<std::string_view, 4> constant_makers{"device", "float", "complex", "annotate"};

/// Take no more time and memory than their arguments have.
constexpr std::array<std::string_view, 26> harmless{"annotate",
                                                    "unchecked_cast",
                                                    "uninitialized",
                                                    "isinstance",
                                                    "float",
                                                    "int",
                                                    "bool",
                                                    "len",
                                                    "append",
                                                    "device",
                                                    "__is__",
                                                    "__not__",
                                                    "__isnot__",
                                                    "eq",
                                                    "ne",
                                                    "lt",
                                                    "le",
                                                    "gt",
                                                    "ge",
                                                    "sub",
                                                    "__getitem__",
                                                    "unpack",
                                                    "RaiseException",
                                                    "warn",
                                                    "dtype",
                                                    "unchecked_unwrap_optional"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_call(const code_line& line, std::size_t at) {
  return at > 0 && line.is(at, "(") && line.ends_value(at - 1);
}

/// Lists and texts can be repeated and joined; LibTorch writes operators as functions.
bool repeats(const code_line& line, std::size_t at) {
  switch (line.words[at].kind) {
    case '*':
    case '+':
      return at > 0 && line.ends_value(at - 1);
    case torch::jit::TK_PLUS_EQ:
    case torch::jit::TK_TIMES_EQ:
    case torch::jit::TK_FOR:
    case torch::jit::TK_WHILE:
      return true;
    default:
      return false;
  }
}

/// torch.NAME and ops.SPACE.NAME: packing and unpacking weights is what loading is for.
bool is_harmless_operator(const std::string& path, const std::string& name) {
  if (is_one_of(harmless, name)) return true;
  return path.starts_with("ops.") && !path.starts_with("ops.aten.") &&
         (name.ends_with("pack") || name.ends_with("pack_fp16") || name.starts_with("make_quantized_cell_params"));
}

}  // namespace

found_word computes_when_compiled(const code_line& line) {
  const std::size_t first = line.is(0, "def") ? 3 : 0;
  for (std::size_t at = first; at < line.words.size(); ++at) {
    if (repeats(line, at)) return std::pair{line.words[at].text, at};
    if (!is_call(line, at) || is_one_of(constant_makers, line.words[at - 1].text)) continue;
    return std::pair{line.dotted_to(at - 1), at - 1};
  }
  return std::nullopt;
}

found_word computes_when_loaded(const code_line& line) {
  for (std::size_t at = 0; at < line.words.size(); ++at) {
    if (repeats(line, at)) return std::pair{line.words[at].text, at};
    if (line.is(at, "getattr") && !line.is(at + 2, "self")) return std::pair{std::string("getattr"), at};
    if (is_call(line, at) && !line.is_name(at - 1)) return std::pair{std::string("("), at};
    if (!line.is_name(at) || line.is(at + 1, ".")) continue;
    const std::string path = line.dotted_to(at);
    const bool is_operator = path.starts_with("torch.") || path.starts_with("ops.");
    if (is_operator && !is_harmless_operator(path, line.words[at].text)) return std::pair{path, at};
  }
  return std::nullopt;
}

}  // namespace troupe
