#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace troupe {

/// Members of a tuple in a model's code, with those of the tuples in it; an export has some hundred.
inline constexpr std::uint64_t tuple_members_max = 4'000;

/// A place in a model's code that reaches outside.
struct code_effect {
  std::string class_name;  ///< as the code has it: "Net"; empty outside of classes
  std::string method;
  std::size_t line = 0;  ///< from 1
  std::string text;      ///< "torch.save", "print"
  std::string effect;    ///< "writes a file"
  /// An operator that LibTorch does not have, so that no permission makes it run.
  bool is_missing = false;
};

/// The code of a class, or of a function outside of classes, names a class or a function of the archive.
struct code_reference {
  std::string holder;
  std::string named;  ///< "__torch__.Block"
};

/// A function or method, and what it would do if LibTorch ran it when it loads the archive.
struct code_function {
  std::string class_name;
  std::string name;
  std::size_t line = 0;  ///< from 1
  /// All names in it, in order: some may be functions that it calls.
  std::vector<std::string> names = {};
  /// The first text that may take any time or memory: "torch.ones", "while".
  std::optional<std::string> risk = std::nullopt;
};

struct code_outline {
  /// Operations within operations and blocks within blocks: a bound for what a recursive compiler needs.
  std::size_t depth = 0;
  std::uint64_t tokens = 0;
  /// The largest tuple, members within members counted.
  std::uint64_t tuple_members = 0;
  /// What LibTorch never writes and cannot read within bounds, for people; empty as a rule.
  std::string foreign;
  std::vector<code_effect> effects;
  std::vector<code_reference> references;
  std::vector<code_function> functions;
};

/// Reads one file of a TorchScript archive's code token by token, by LibTorch's own lexer, and runs nothing: default
/// values of arguments and constants of classes are code, too, and LibTorch runs them when it compiles. All names are
/// looked at, so that an operator cannot be reached by another way of writing it. Stops behind `tokens_max` tokens, and
/// then has read more of them. The error names the bad text.
tl::expected<code_outline, std::string> scan_code(const std::string& code, const std::string& name,
                                                  std::uint64_t tokens_max);

}  // namespace troupe
