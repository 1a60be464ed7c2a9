#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <torch/csrc/jit/frontend/lexer.h>

namespace troupe {

/// One token, by LibTorch's lexer.
struct code_word {
  int kind;
  std::string text;
  std::size_t offset;
};

/// The tokens of one logical line of code; lines that brackets join are one.
struct code_line {
  std::vector<code_word> words;

  [[nodiscard]] bool is(std::size_t at, std::string_view text) const {
    return at < words.size() && words[at].text == text;
  }
  [[nodiscard]] bool is_name(std::size_t at) const {
    return at < words.size() && words[at].kind == torch::jit::TK_IDENT;
  }
  [[nodiscard]] bool is_member(std::size_t at) const { return at > 0 && is(at - 1, "."); }
  /// Whether what stands at `at` is a value's end: an operator behind it has two operands, and a bracket is a call.
  [[nodiscard]] bool ends_value(std::size_t at) const {
    return is_name(at) || is(at, ")") || is(at, "]") ||
           (at < words.size() &&
            (words[at].kind == torch::jit::TK_NUMBER || words[at].kind == torch::jit::TK_STRINGLITERAL));
  }
  /// The names with dots between them that begin at `at`.
  [[nodiscard]] std::string dotted_from(std::size_t at) const {
    std::string text = words[at].text;
    for (; is(at + 1, ".") && at + 2 < words.size(); at += 2) text += "." + words[at + 2].text;
    return text;
  }
  /// The same that end at `at`.
  [[nodiscard]] std::string dotted_to(std::size_t at) const {
    std::string text = words[at].text;
    for (; at >= 2 && is(at - 1, ".") && is_name(at - 2); at -= 2) text.insert(0, words[at - 2].text + ".");
    return text;
  }
};

}  // namespace troupe
