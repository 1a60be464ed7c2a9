#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace troupe {

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

struct code_outline {
  /// Operations within operations and blocks within blocks: a bound for what a recursive compiler needs.
  std::size_t depth = 0;
  std::vector<code_effect> effects;
  std::vector<code_reference> references;
};

/// Reads one file of a TorchScript archive's code token by token, by LibTorch's own lexer, and runs nothing: default
/// values of arguments and constants of classes are code, too, and LibTorch runs them when it compiles. All names are
/// looked at, so that an operator cannot be reached by another way of writing it. The error names the bad text.
tl::expected<code_outline, std::string> scan_code(const std::string& code, const std::string& name);

}  // namespace troupe
