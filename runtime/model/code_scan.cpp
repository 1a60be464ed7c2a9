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
#include "runtime/model/libtorch_error.hpp"

namespace troupe {
namespace {

using torch::jit::Token;

constexpr auto unknown_operator = "uses operators that are not known";
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
  code_reader(const std::string& code, const std::string& name)
      : source_(std::make_shared<torch::jit::Source>(std::string_view(code), name)), lexer_(source_) {}

  code_outline run() {
    while (lexer_.cur().kind != torch::jit::TK_EOF) {
      const Token token = lexer_.next();
      meter_.read(token.kind, line_.empty());
      if (meter_.deepest() > limits::model_expression_depth_max) break;
      read(token);
    }
    end_line();
    outline_.depth = meter_.deepest();
    return std::move(outline_);
  }

 private:
  struct word {
    int kind;
    std::string text;
    std::size_t offset;
  };

  void read(const Token& token) {
    if (token.kind == torch::jit::TK_INDENT) ++indent_;
    if (token.kind == torch::jit::TK_DEDENT) --indent_;
    if (token.kind == torch::jit::TK_DEDENT) return;
    if (token.kind == torch::jit::TK_NEWLINE || token.kind == torch::jit::TK_INDENT) return end_line();
    if (line_.empty()) indent_of_line_ = indent_;
    line_.push_back({token.kind, token.text(), token.range.start()});
  }

  void end_line() {
    note_definition();
    for (std::size_t at = 0; at < line_.size(); ++at) {
      if (line_[at].kind == torch::jit::TK_IDENT) look_at_name(at);
    }
    look_at_texts();
    line_.clear();
    indent_of_line_ = indent_;
  }

  /// getattr(x, "save") is x.save. Texts side by side are one.
  void look_at_texts() {
    bool has_getattr = false;
    std::string text;
    for (std::size_t at = 0; at < line_.size(); ++at) {
      has_getattr = has_getattr || line_[at].text == "getattr";
      const bool is_text = has_getattr && line_[at].kind == torch::jit::TK_STRINGLITERAL;
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
    return torch::jit::parseStringLiteral({source_, 0, 0}, line_[at].text);
  }

  [[nodiscard]] bool is(std::size_t at, std::string_view text) const {
    return at < line_.size() && line_[at].text == text;
  }
  [[nodiscard]] bool is_member(std::size_t at) const { return at > 0 && line_[at - 1].text == "."; }

  void look_at_name(std::size_t at) {
    const std::string& name = line_[at].text;
    if (is(0, "def") && at == 1) return;
    const name_place place = is_member(at) ? name_place::member : name_place::plain;
    if (const auto effect = effect_of_name(name, place)) add_effect(at, dotted_to(at), *effect);
    if (is_member(at)) return;
    if (name == "ops") look_at_operator(at);
    if (name == "__torch__") look_at_own(at);
  }

  /// ops.NAMESPACE.NAME, written in one piece.
  void look_at_operator(std::size_t at) {
    const bool is_whole = is(at + 1, ".") && is(at + 3, ".") && at + 4 < line_.size();
    if (!is_whole || !is_known_namespace(line_[at + 2].text)) {
      add_effect(at, dotted_from(at), unknown_operator);
      outline_.effects.back().is_missing = is_whole && !has_operator(line_[at + 2].text + "::" + line_[at + 4].text);
      return;
    }
    if (line_[at + 2].text != "prim") return;
    const auto effect = effect_of_name(line_[at + 4].text, name_place::prim);
    if (effect) add_effect(at, dotted_from(at), *effect);
  }

  /// Names below __torch__ are the model's own, except for C++ classes; and nothing else may be called like this.
  void look_at_own(std::size_t at) {
    const std::string whole = dotted_from(at);
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
                                .line = source_->lineno_for_offset(line_[at].offset) + 1,
                                .text = std::move(text),
                                .effect = std::string(effect)});
  }

  void note_definition() {
    if (line_.size() < 2) return;
    if (is(0, "class")) {
      class_ = line_[1].text;
      method_.clear();
    } else if (is(0, "def")) {
      method_ = line_[1].text;
      if (indent_of_line_ == 0) class_.clear();
    }
  }

  /// The names with dots between them that begin at `at`.
  [[nodiscard]] std::string dotted_from(std::size_t at) const {
    std::string text = line_[at].text;
    for (; is(at + 1, ".") && at + 2 < line_.size(); at += 2) text += "." + line_[at + 2].text;
    return text;
  }
  /// The same that end at `at`.
  [[nodiscard]] std::string dotted_to(std::size_t at) const {
    std::string text = line_[at].text;
    for (; at >= 2 && is(at - 1, ".") && line_[at - 2].kind == torch::jit::TK_IDENT; at -= 2) {
      text.insert(0, line_[at - 2].text + ".");
    }
    return text;
  }

  std::shared_ptr<torch::jit::Source> source_;
  torch::jit::Lexer lexer_;
  depth_meter meter_;
  code_outline outline_;
  /// The tokens of the line that is being read.
  std::vector<word> line_;
  std::string class_;
  std::string method_;
  int indent_ = 0;
  int indent_of_line_ = 0;
};

}  // namespace

tl::expected<code_outline, std::string> scan_code(const std::string& code, const std::string& name) try {
  if (const std::size_t run = longest_run_without_tokens(code); run > limits::model_expression_depth_max) {
    return code_outline{.depth = run, .effects = {}, .references = {}};
  }
  return code_reader(code, name).run();
} catch (const std::exception& caught) {
  return tl::make_unexpected(libtorch_message(caught));
}

}  // namespace troupe
