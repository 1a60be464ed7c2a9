#include "runtime/model/code_scan.hpp"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include <torch/csrc/jit/frontend/lexer.h>
#include <torch/csrc/jit/frontend/parse_string_literal.h>
#include <torch/csrc/jit/runtime/operator.h>

#include "messages/limits.hpp"
#include "runtime/graph/code_effects.hpp"
#include "runtime/model/code_line.hpp"
#include "runtime/model/libtorch_error.hpp"
#include "runtime/model/load_time_code.hpp"
#include "runtime/model/tuple_growth.hpp"

namespace troupe {
namespace {

using torch::jit::Token;

constexpr auto unknown_operator = "uses operators that are not known";
constexpr auto load_time = "computes while it is loaded, which may take any time and memory";
constexpr std::string_view cpp_classes = "__torch__.torch.classes.";

bool has_operator(const std::string& name) {
  return !torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(name)).empty();
}

/// Lines in a row that hold no token: LibTorch's lexer calls itself once for each.
std::size_t longest_run_without_tokens(std::string_view code) {
  std::size_t run = 0;
  std::size_t longest = 0;
  while (!code.empty()) {
    const std::size_t end = std::min(code.find('\n'), code.size() - 1);
    const std::size_t first = code.find_first_not_of(" \t\r\v\f");
    const char begin = first == std::string_view::npos ? '\n' : code[first];
    run = begin == '\n' || begin == '#' || begin == '\\' ? run + 1 : 0;
    longest = std::max(longest, run);
    code.remove_prefix(end + 1);
  }
  return longest;
}

/// How deep the tree of what was read so far can be. Whatever may make a tree deeper counts, until the list, argument
/// or line that it stands in ends.
class depth_meter {
 public:
  void read(int kind, bool begins_line) {
    switch (kind) {
      case '(':
      case '[':
      case '{':
        deepen();
        operations_.push_back(0);
        break;
      case ')':
      case ']':
      case '}':
        if (operations_.size() > 1) end_level();
        break;
      case ',':
      case ':':
        clear_level();
        break;
      case torch::jit::TK_NEWLINE:
        while (operations_.size() > 1) end_level();
        clear_level();
        break;
      default:
        read_word(kind, begins_line);
    }
    deepest_ = std::max(deepest_, depth_);
  }
  [[nodiscard]] std::size_t deepest() const { return deepest_; }

 private:
  void read_word(int kind, bool begins_line) {
    switch (kind) {
      case torch::jit::TK_INDENT:
        clear_level();
        branches_.push_back(0);
        ++depth_;
        break;
      case torch::jit::TK_DEDENT:
        if (branches_.size() > 1) {
          depth_ -= branches_.back() + 1;
          branches_.pop_back();
        }
        break;
      case torch::jit::TK_ELIF:  // an if within the else of the one before
        ++branches_.back();
        ++depth_;
        break;
      case torch::jit::TK_IDENT:
      case torch::jit::TK_NUMBER:
      case torch::jit::TK_STRINGLITERAL:
        break;
      default:
        if (begins_line && kind == torch::jit::TK_IF) {
          depth_ -= branches_.back();
          branches_.back() = 0;
        }
        deepen();
    }
  }
  void deepen() {
    ++operations_.back();
    ++depth_;
  }
  void clear_level() {
    depth_ -= operations_.back();
    operations_.back() = 0;
  }
  void end_level() {
    clear_level();
    operations_.pop_back();
  }

  /// By open bracket; the first is the line's.
  std::vector<std::size_t> operations_{0};
  /// By open block.
  std::vector<std::size_t> branches_{0};
  std::size_t depth_ = 0;
  std::size_t deepest_ = 0;
};

class code_reader {
 public:
  code_reader(const std::string& code, const std::string& name, std::uint64_t tokens_max)
      : source_(std::make_shared<torch::jit::Source>(std::string_view(code), name)),
        lexer_(source_),
        tokens_max_(tokens_max) {}

  code_outline run() {
    while (lexer_.cur().kind != torch::jit::TK_EOF) {
      const Token token = lexer_.next();
      meter_.read(token.kind, line_.words.empty());
      if (meter_.deepest() > limits::model_expression_depth_max || ++outline_.tokens > tokens_max_) break;
      read(token);
    }
    end_line();
    outline_.depth = meter_.deepest();
    outline_.tuple_members = tuples_.largest();
    return std::move(outline_);
  }

 private:
  void read(const Token& token) {
    if (token.kind == torch::jit::TK_INDENT) ++indent_;
    if (token.kind == torch::jit::TK_DEDENT) --indent_;
    if (token.kind == torch::jit::TK_DEDENT) return;
    if (token.kind == torch::jit::TK_NEWLINE || token.kind == torch::jit::TK_INDENT) return end_line();
    if (line_.words.empty()) indent_of_line_ = indent_;
    line_.words.push_back({token.kind, token.text(), token.range.start()});
  }

  void end_line() {
    note_definition();
    for (std::size_t at = 0; at < line_.words.size(); ++at) {
      if (line_.is_name(at)) look_at_name(at);
    }
    look_at_texts();
    look_for_foreign();
    look_at_time();
    line_.words.clear();
    indent_of_line_ = indent_;
  }

  /// getattr(x, "save") is x.save. Texts side by side are one.
  void look_at_texts() {
    bool has_getattr = false;
    std::string text;
    for (std::size_t at = 0; at < line_.words.size(); ++at) {
      has_getattr = has_getattr || line_.words[at].text == "getattr";
      const bool is_text = has_getattr && line_.words[at].kind == torch::jit::TK_STRINGLITERAL;
      if (!is_text) {
        text.clear();
        continue;
      }
      text += literal(at);
      if (const auto effect = effect_of_name(text, name_place::member)) add_effect(at, "getattr " + text, *effect);
      if (text == "ops") add_effect(at, "getattr " + text, unknown_operator);
    }
  }
  [[nodiscard]] std::string literal(std::size_t at) const {
    return torch::jit::parseStringLiteral({source_, 0, 0}, line_.words[at].text);
  }

  /// LibTorch writes out a loop over a tuple once for each member, loops in loops too; its own files have none. Without
  /// the type of a result a function may give a tuple of any size.
  void look_for_foreign() {
    const std::size_t end = line_.words.size();
    for (std::size_t at = 0; at < end; ++at) {
      if (line_.words[at].kind == torch::jit::TK_FOR && !line_.is(at + 3, "range"))
        outline_.foreign = "a loop that is not over range()";
      const bool is_range = line_.is(at, "range") && line_.is_name(at) && !line_.is_member(at);
      if (is_range && (!line_.is(at + 1, "(") || at < 3 || line_.words[at - 3].kind != torch::jit::TK_FOR))
        outline_.foreign = "another use of range() than for a loop";
    }
    const bool has_result =
        std::ranges::any_of(line_.words, [](const code_word& each) { return each.kind == torch::jit::TK_ARROW; });
    if (line_.is(0, "def") && !has_result) outline_.foreign = "a function without the type of its result";
  }

  /// What would be computed when the file is loaded.
  void look_at_time() {
    if (line_.words.empty() || line_.is(0, "class")) return;
    const bool is_head = line_.is(0, "def");
    const bool is_outside = indent_of_line_ == 0 || (indent_of_line_ == 1 && !class_.empty());
    if (is_head || is_outside) {
      if (const auto found = computes_when_compiled(line_)) add_effect(found->second, found->first, load_time);
      return;
    }
    tuples_.read(line_);
    if (outline_.functions.empty()) return;
    code_function& function = outline_.functions.back();
    for (std::size_t at = 0; at < line_.words.size(); ++at) {
      if (line_.is_name(at)) function.names.push_back(line_.words[at].text);
    }
    if (function.risk) return;
    if (const auto found = computes_when_loaded(line_)) function.risk = found->first;
  }

  void look_at_name(std::size_t at) {
    const std::string& name = line_.words[at].text;
    if (line_.is(0, "def") && at == 1) return;
    const name_place place = line_.is_member(at) ? name_place::member : name_place::plain;
    if (const auto effect = effect_of_name(name, place)) add_effect(at, line_.dotted_to(at), *effect);
    if (line_.is_member(at)) return;
    if (name == "ops") look_at_operator(at);
    if (name == "__torch__") look_at_own(at);
  }

  /// ops.NAMESPACE.NAME, written in one piece.
  void look_at_operator(std::size_t at) {
    const bool is_whole = line_.is(at + 1, ".") && line_.is(at + 3, ".") && at + 4 < line_.words.size();
    if (!is_whole || !is_known_namespace(line_.words[at + 2].text)) {
      add_effect(at, line_.dotted_from(at), unknown_operator);
      outline_.effects.back().is_missing =
          is_whole && !has_operator(line_.words[at + 2].text + "::" + line_.words[at + 4].text);
      return;
    }
    if (line_.words[at + 2].text != "prim") return;
    const auto effect = effect_of_name(line_.words[at + 4].text, name_place::prim);
    if (effect) add_effect(at, line_.dotted_from(at), *effect);
  }

  /// Names below __torch__ are the model's own, except for C++ classes; and nothing else may be called like this.
  void look_at_own(std::size_t at) {
    const std::string whole = line_.dotted_from(at);
    outline_.references.push_back({class_.empty() ? method_ : class_, whole});
    const bool is_class = whole.starts_with(cpp_classes);
    const std::string rest = is_class ? whole.substr(cpp_classes.size()) : std::string();
    if (whole == "__torch__" || whole == "__torch__.torch" || whole == "__torch__.torch.classes" ||
        (is_class && !is_known_class_namespace(rest.substr(0, rest.find('.'))))) {
      add_effect(at, whole, "uses a C++ class that is not known");
    }
  }

  void add_effect(std::size_t at, std::string text, std::string_view effect) {
    outline_.effects.push_back({.class_name = class_,
                                .method = method_,
                                .line = line_number(at),
                                .text = std::move(text),
                                .effect = std::string(effect)});
  }

  [[nodiscard]] std::size_t line_number(std::size_t at) const {
    return source_->lineno_for_offset(line_.words[at].offset) + 1;
  }

  void note_definition() {
    if (line_.words.size() < 2) return;
    if (line_.is(0, "class")) {
      class_ = line_.words[1].text;
      method_.clear();
    } else if (line_.is(0, "def")) {
      method_ = line_.words[1].text;
      if (indent_of_line_ == 0) class_.clear();
      tuples_.forget();
      outline_.functions.push_back({.class_name = class_, .name = method_, .line = line_number(0)});
    }
  }

  std::shared_ptr<torch::jit::Source> source_;
  torch::jit::Lexer lexer_;
  depth_meter meter_;
  code_outline outline_;
  /// The tokens of the line that is being read.
  code_line line_;
  tuple_growth tuples_;
  std::uint64_t tokens_max_;
  std::string class_;
  std::string method_;
  int indent_ = 0;
  int indent_of_line_ = 0;
};

}  // namespace

tl::expected<code_outline, std::string> scan_code(const std::string& code, const std::string& name,
                                                  std::uint64_t tokens_max) try {
  if (const std::size_t run = longest_run_without_tokens(code); run > limits::model_expression_depth_max) {
    code_outline outline;
    outline.depth = run;
    return outline;
  }
  return code_reader(code, name, tokens_max).run();
} catch (const std::exception& caught) {
  return tl::make_unexpected(libtorch_message(caught));
}

}  // namespace troupe
